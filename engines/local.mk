# engines/
