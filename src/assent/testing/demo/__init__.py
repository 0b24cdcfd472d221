"""What does a governed server look like from outside?"""
