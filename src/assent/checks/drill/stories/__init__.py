"""The stories, one file each; the file name is the name of the story."""
