mkdir Kiosk && cd Kiosk
swift package init --type executable --name Kiosk
cp ~/Pictures/card.jpg front.jpg
