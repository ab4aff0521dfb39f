"""The common part of the Python readers: reads a batch of bodies from a file and prints the parsed parts as JSON.

Each reader is a function that takes a body and its Content-Type and returns a list of `part(...)`.
"""

import base64
import json
import os
import sys


def part(name, file_name, content_type, content):
    return {
        "name": name,
        "fileName": file_name,
        "contentType": content_type,
        "content": base64.b64encode(content).decode(),
    }


def boundary_of(content_type):
    return content_type.partition("boundary=")[2]


def run(version, read):
    folder = sys.argv[1]
    with open(os.path.join(folder, "batch.json"), encoding="utf-8") as file:
        batch = json.load(file)
    answers = []
    for form in batch:
        with open(os.path.join(folder, form["file"]), "rb") as file:
            body = file.read()
        answer = {"id": form["id"]}
        try:
            answer["parts"] = read(body, form["contentType"])
        except Exception as error:
            answer["refusal"] = f"{type(error).__name__}: {error}"
        answers.append(answer)
    json.dump({"version": version, "forms": answers}, sys.stdout)
