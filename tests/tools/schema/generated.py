"""Random schemas of the keywords that tools use, and values that nearly fit them."""

import random

NAMES = ["a", "b", "c", "foo", "x y", "é"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, 0.5, 1.5, -2.5, 1e2, 7]
TEXTS = ["", "a", "b", "ab", "abc", "é", "😀", "x1", "12", "a b", "A", "foo"]
PATTERNS = ["^a", "b$", "^[a-c]+$", "^.{1,2}$", r"\d", r"^\w*$", "^(?!a)", "a|b", r"^\S+$", "^$", "(ab)?c", r"[^a]", "^x[0-9]*$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


def value(rng: random.Random, depth: int = 3):
    kind = rng.randrange(9 if depth > 0 else 6)
    if kind < 1:
        return rng.choice([None, True, False])
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 6:
        return rng.choice(TEXTS)
    if kind < 7:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {name: value(rng, depth - 1) for name in rng.sample(NAMES, rng.randrange(4))}


def count(rng: random.Random) -> int:
    return rng.choice([0, 1, 1, 2, 3])


def keyword(rng: random.Random, depth: int):
    """One keyword and its value; keywords that hold schemas only while depth is left."""
    inner = lambda: schema(rng, depth - 1)  # noqa: E731
    many = lambda: [inner() for _ in range(rng.randrange(1, 4))]  # noqa: E731
    some_names = lambda: rng.sample(NAMES, rng.randrange(1, 3))  # noqa: E731
    simple = {
        "type": lambda: rng.choice([rng.choice(TYPES), rng.sample(TYPES, rng.randrange(1, 4))]),
        "minimum": lambda: rng.choice(NUMBERS), "maximum": lambda: rng.choice(NUMBERS),
        "exclusiveMinimum": lambda: rng.choice(NUMBERS), "exclusiveMaximum": lambda: rng.choice(NUMBERS),
        "multipleOf": lambda: rng.choice([1, 2, 0.5, 3, 2.5]), "minLength": lambda: count(rng), "maxLength": lambda: count(rng),
        "pattern": lambda: rng.choice(PATTERNS), "enum": lambda: [value(rng, 1) for _ in range(rng.randrange(1, 4))],
        "const": lambda: value(rng, 1), "required": some_names, "minItems": lambda: count(rng), "maxItems": lambda: count(rng),
        "minProperties": lambda: count(rng), "maxProperties": lambda: count(rng), "uniqueItems": lambda: rng.random() < 0.8,
        "dependentRequired": lambda: {name: some_names() for name in some_names()},
        "$ref": lambda: rng.choice(["#/$defs/one", "#/$defs/two", "#three"]), "minContains": lambda: count(rng), "maxContains": lambda: count(rng),
    }
    nested = {
        "properties": lambda: {name: inner() for name in some_names()}, "patternProperties": lambda: {rng.choice(PATTERNS): inner()},
        "additionalProperties": inner, "propertyNames": inner, "items": inner, "prefixItems": many, "contains": inner,
        "allOf": many, "anyOf": many, "oneOf": many, "not": inner, "if": inner, "then": inner, "else": inner,
        "dependentSchemas": lambda: {rng.choice(NAMES): inner()},
    }
    known = simple | (nested if depth > 0 else {})
    name = rng.choice(list(known))
    return name, known[name]()


def schema(rng: random.Random, depth: int):
    if rng.random() < 0.06:
        return rng.random() < 0.6
    made = dict(keyword(rng, depth) for _ in range(rng.randrange(1, 5)))
    # ajv accepts an empty array for `contains` with a prefix; the draft does not.
    if "prefixItems" in made:
        made.pop("contains", None)
    return made


def document(rng: random.Random):
    """A schema with definitions for its references; they may refer to each other, even in a cycle."""
    made = schema(rng, 3)
    if isinstance(made, bool):
        return made
    made["$defs"] = {"one": schema(rng, 1), "two": schema(rng, 1), "three": {"$anchor": "three", "type": ["string", "object", "number"]}}
    return made
