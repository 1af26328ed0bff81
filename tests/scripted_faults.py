"""The ways in which providers fail, each with the words that the real ones use."""

from collections.abc import Callable
from dataclasses import replace

from scripted_shapes import Answer, Asked, Broken, Item, Page, Refused, Scripted

QUOTA_PAGE = (
    b"<!doctype html><html><head><title>Quota exceeded</title></head><body><h1>Upgrade your plan</h1></body></html>"
)


def rate_limited(retry_after: str = "1") -> Refused:
    """429. retry_after: seconds or an HTTP date; empty for no such header."""
    headers = {"Retry-After": retry_after} if retry_after else {}
    return Refused(status=429, message="Rate limit reached.", kind="rate_limit_error", headers=headers)


def quota_used_up() -> Refused:
    """A 429 that no waiting cures."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return Refused(status=429, message=message, kind="insufficient_quota", code="insufficient_quota")


def payment_required() -> Refused:
    return Refused(status=402, message="Insufficient credits. Add more to go on.", kind="billing_error", code="402")


def bad_key() -> Refused:
    message = "Incorrect API key provided: sk-wrong."
    return Refused(status=401, message=message, kind="authentication_error", code="invalid_api_key")


def forbidden() -> Refused:
    return Refused(status=403, message="Your key may not use this model.", kind="permission_error")


def no_such_model() -> Refused:
    message = "The model `scripted` does not exist or you do not have access to it."
    return Refused(status=404, message=message, kind="not_found_error", code="model_not_found")


def server_error() -> Refused:
    return Refused(status=500, message="The server had an error.", kind="api_error")


def bad_gateway() -> Page:
    return Page(status=502, body=b"<html><body>502 Bad Gateway</body></html>", content_type="text/html")


def overloaded() -> Refused:
    return Refused(status=503, message="The engine is overloaded, please try again later.", kind="overloaded_error")


def context_too_long(limit: int = 8192, asked_tokens: int = 9000) -> Refused:
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {asked_tokens} "
        "tokens. Please reduce the length of the messages. (prompt is too long)"
    )
    return Refused(status=400, message=message, code="context_length_exceeded", param="messages")


def unsupported_parameter(name: str) -> Refused:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Refused(status=400, message=message, code="unsupported_parameter", param=name)


def unknown_schema_keyword(keyword: str) -> Refused:
    message = f"Invalid JSON payload received. Unknown name \"{keyword}\" at 'tools[0].function.parameters'."
    return Refused(status=400, message=message, param="tools")


def content_policy() -> Refused:
    message = "Your request was rejected by our content management policy."
    return Refused(status=400, message=message, code="content_policy_violation")


def quota_page() -> Page:
    """A web page with status 200 where the answer should be."""
    return Page(body=QUOTA_PAGE, content_type="text/html")


def empty_body() -> Page:
    return Page(body=b"")


def half_json() -> Page:
    return Page(body=b'{"id": "chatcmpl-1", "choices": [{"mess')


def cut(answer: Answer | None = None, after: int | None = None) -> Broken:
    """The connection closes within the answer: after so many pieces, else when all of its calls have arrived."""
    return Broken(answer=answer or Answer(text="It breaks off here."), after=after)


def ended_early(answer: Answer | None = None, after: int | None = None) -> Broken:
    """Like cut, but the body ends as if it were whole: only the protocol's own ending is missing."""
    return Broken(answer=answer or Answer(text="It breaks off here."), after=after, then="end")


def error_event(answer: Answer | None = None, after: int | None = None) -> Broken:
    """An error event within the stream, its status being 200; not as a stream: a 500."""
    return Broken(answer=answer or Answer(text="It breaks off here."), after=after, then="error")


def hanging(answer: Answer | None = None, after: int = 0) -> Broken:
    """Nothing more comes until the server closes."""
    return Broken(answer=answer or Answer(text="It hangs here."), after=after, then="hang")


def reset(answer: Answer | None = None, after: int = 0) -> Broken:
    return Broken(answer=answer or Answer(text="It breaks off here."), after=after, then="reset")


def dripping(answer: Answer, gap: float = 0.05) -> Answer:
    """The same answer, a little at a time: no single read times out."""
    return replace(answer, gap=gap)


def repeating(line: str = "The user asked about the tests.\n", times: int = 2000) -> Answer:
    """One line until the output limit."""
    return Answer(text=line * times, finish="length")


def thought_only() -> Answer:
    """Reasoning took all of the output limit; nothing was said."""
    return Answer(thinking="Let me think about this again. " * 20, finish="length")


def unless(fits: Callable[[Asked], bool], fault: Item, answer: Scripted) -> Callable[[Asked], Item]:
    """The answer for a request that fits, else the fault."""

    def choose(asked: Asked) -> Item:
        chosen = answer if fits(asked) else fault
        return chosen(asked) if callable(chosen) else chosen

    return choose


def without_parameter(name: str, answer: Scripted) -> Callable[[Asked], Item]:
    """Answers only requests that leave the parameter out."""
    return unless(lambda asked: name not in asked.body, unsupported_parameter(name), answer)


def within_window(tokens: int, answer: Scripted) -> Callable[[Asked], Item]:
    """Answers only prompts of up to so many tokens, at four characters each."""
    return unless(lambda asked: asked.prompt_tokens <= tokens, context_too_long(tokens, tokens + 1), answer)


def without_keyword(keyword: str, answer: Scripted) -> Callable[[Asked], Item]:
    """Answers only requests whose tool schemas do without the keyword."""
    return unless(lambda asked: f"'{keyword}':" not in repr(asked.tools), unknown_schema_keyword(keyword), answer)
