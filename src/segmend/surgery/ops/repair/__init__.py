"""What is damaged made anew from what is not."""
