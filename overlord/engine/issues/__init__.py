"""Issues at the forge: claimed, opened, told how it goes, found again under another name."""
