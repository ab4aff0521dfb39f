$ mkdir kiosk
$ cd kiosk
$ swift package init --type executable --name kiosk
…
$ mv Sources/kiosk/kiosk.swift Sources/kiosk/main.swift
