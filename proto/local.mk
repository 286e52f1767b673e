# proto/
