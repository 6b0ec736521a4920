"""What an outsider sees: commands held against one another over dirs that are hurt at random."""
