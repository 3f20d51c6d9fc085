"""Files: reading tables block by block, encoded rows on disk, model files, safe writing."""
