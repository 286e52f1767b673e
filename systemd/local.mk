# systemd/
