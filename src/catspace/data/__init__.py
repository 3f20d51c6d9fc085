"""From any table to integer codes and numbers; neither torch nor scikit-learn is needed here."""
