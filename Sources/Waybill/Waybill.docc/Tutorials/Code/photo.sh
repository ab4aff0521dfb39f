$ swift run --package-path ../waybill/Samples -c release IDCardFlow --photos .
./front.jpg: … MiB
./back.jpg: … MiB
