"""`sasl.jaas.config` as Kafka's `JaasConfig` reads it, and stricter where that passes over text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.clients.kafka.jaas import NAME, parse_jaas
from kafka_warden.errors import SecretError
from kafka_warden.settings.secrets import Secret

CANARY = "Tr0ub4dor"
BEHIND = "this is no option. Put values in double quotes"
FORM = 'expected <login module> required username="...'
NO_END = "it does not end with ;: end each line but the last with \\ and nothing behind it"


def options(text: str) -> dict[str, str]:
    return {name: value.reveal() for name, value in parse_jaas(Secret(text)).options.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('M required username="u" password="p";', {"username": "u", "password": "p"}),
        ("M required username=u password=p;", {"username": "u", "password": "p"}),
        ("M required username='u' password='a \" b';", {"username": "u", "password": 'a " b'}),
        (r'M required username="a \" b";', {"username": 'a " b'}),
        (r'M required username="a \\ b";', {"username": "a \\ b"}),
        (r'M required username="a\tb\101\7z\400";', {"username": "a\tbA\7z 0"}),
        ('M required username = "u" password= "p" ;', {"username": "u", "password": "p"}),
        ("M required username=u-1_2$3.x;", {"username": "u-1_2$3.x"}),
        ('M required username="a/b//c" password="p"; // comment', {"username": "a/b//c", "password": "p"}),
        ('M required /* username="x" */ username="u"; ', {"username": "u"}),
        ('M required // username="x"\n username="u";', {"username": "u"}),
        ('M required username="";', {"username": ""}),
        ('M required "username"="u";', {"username": "u"}),
        ('"M" required username="u";', {"username": "u"}),
        ('org.apache.kafka.M REQUIRED username="u";', {"username": "u"}),
        ("M required;", {}),
        ('M required username="é" password=é;', {"username": "é", "password": "é"}),
        ('M required use.x-y="u" x.y=z;', {"use.x-y": "u", "x.y": "z"}),
        ('M required ssl.endpoint.identification.algorithm="";', {"ssl.endpoint.identification.algorithm": ""}),
        ('M required $x="u" _y=z;', {"$x": "u", "_y": "z"}),
        ("M required username=a.b;", {"username": "a.b"}),
        ('M required username="$ConnectionString" password="sb://a/;K=b=";', None),
    ],
)
def test_java_reads_the_same(text: str, expected: dict[str, str] | None) -> None:
    """Each row is what `JaasConfig` of Kafka 4.4.0 returned for this text."""
    expected = expected if expected is not None else {"username": "$ConnectionString", "password": "sb://a/;K=b="}
    assert options(text) == expected
    assert parse_jaas(Secret(text)).module == "M"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('M required username="u" password="Tr0ub"4dor";', f"character 41, behind the option password: {BEHIND}"),
        ('M required username="u" password="Tr0ub" 4dor";', f"behind the option password: {BEHIND}"),
        ("M required username=Tr0ub@4dor;", f"behind the option username: {BEHIND}"),
        ('M required username="Tr0ub4dor", password="p";', f"behind the option username: {BEHIND}"),
        ('M required username:"Tr0ub4dor";', f"behind the flag: {BEHIND}"),
        ("M required username;", f"behind the flag: {BEHIND}"),
        ("M required username='it''s Tr0ub4dor';", f"behind the option username: {BEHIND}"),
        ("M required username=;", "the option username: put the value in double quotes, on one line"),
        ("M required username=12Tr0ub4dor;", "the option username: put the value in double quotes"),
        ("M required username=-Tr0ub4dor;", "the option username: put the value in double quotes"),
        ("M required username=+Tr0ub4dor;", "the option username: put the value in double quotes"),
        ('M required username="Tr0ub4dor\nv";', "the option username: put the value in double quotes, on one line"),
        ('M required username="Tr0ub4dor;', "the option username: put the value in double quotes"),
        ('M required username="u" "Tr0ub4dor"=1;', "an option: put the value in double quotes"),
        ("M required username=Tr0ub4dor/b;", f"behind the option username: {BEHIND}"),
        ('M required username="Tr0ub4dor"', NO_END),
        ("M required", NO_END),
        ('M sometimes username="Tr0ub4dor";', FORM),
        ('M username="Tr0ub4dor";', FORM),
        ("M;", FORM),
        (";", FORM),
        ("   ", FORM),
        (CANARY, FORM),
        ('{M required username="Tr0ub4dor";};', FORM),
        ('KafkaClient { M required username="Tr0ub4dor"; };', "write only what is between { and } of KafkaClient"),
        ('"M required username=\\"Tr0ub4dor\\";"', "remove the quotes around the whole"),
        ('M required username="u";;', "text behind the first ;"),
        ('M required username="u"; # Tr0ub4dor', "text behind the first ;"),
        ("M required username=u;password=Tr0ub4dor;", "text behind the first ;"),
        ('M required username="${env:USER}";', "into the file of sasl.password.file"),
        ("${file:/run/secrets:jaas}", "${...} is not replaced here"),
        ("M required username='{{ KEY }}';", "{{...}} is not replaced here"),
        # Java takes these, and not as they were meant.
        ('M required username="u"; N required username="v" password="Tr0ub4dor";', "clients have one login module"),
        ('M required password="p" password="Tr0ub4dor";', "the option password appears twice"),
        ('M required username="u"password="Tr0ub4dor";', f"behind the option username: {BEHIND}"),
    ],
)
def test_what_is_no_option_is_an_error(text: str, message: str) -> None:
    with pytest.raises(SecretError) as caught:
        parse_jaas(Secret(text))
    assert str(caught.value).startswith(f"{NAME}: ")
    assert message in str(caught.value)
    assert not {CANARY, "Tr0ub", "4dor"} & set(str(caught.value).replace(":", " ").split())


@given(st.text('M required="\\;/*\n\x00é4', max_size=40) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    problem = ""
    try:
        parse_jaas(Secret(text))
    except SecretError as failure:
        problem = str(failure)
    assert len(problem.splitlines()) <= 1
