"""Chat completions that translate by a table, over the scripted server of the embeddings tests."""

import json


def answer_with(translate):
    """An answer to a request: `translate(text, source, target)` for each of its texts."""

    def answer(body, _):
        asked = json.loads(body["messages"][1]["content"])
        texts = [translate(text, asked["source"], asked["target"]) for text in asked["texts"]]
        return completion(json.dumps({"translations": texts}))

    return answer


def completion(content, finish="stop"):
    return 200, {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": finish}]}, {}


def texts_of(script):
    """All texts that the server was sent, in order."""
    return [text for _, _, body in script.requests for text in json.loads(body["messages"][1]["content"])["texts"]]
