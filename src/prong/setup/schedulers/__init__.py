"""Schedulers that run jobs periodically: systemd, launchd, cron."""
