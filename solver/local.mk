# solver/
