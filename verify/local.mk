# verify/
