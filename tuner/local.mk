# tuner/
