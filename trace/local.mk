# trace/
