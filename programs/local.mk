# programs/
