swift run --package-path Samples -c release \
    Receiver --port 8080 --token specimen-token
