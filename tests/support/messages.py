"""Check the content of a message, independent of its wording."""


def tells(message: str, *parts: str) -> bool:
    """Whether a message contains these parts in this order.

    Example:
        >>> tells("demo: 500 questions were asked for, there are 120", "demo", "500", "120")
        True
        >>> tells("demo: there are 120", "120", "demo")
        False
    """
    for part in parts:
        _, found, message = message.partition(part)
        if not found:
            return False
    return True
