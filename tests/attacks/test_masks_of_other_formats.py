"""A masked field leaves a result in no format: reprs, settings, XML, CSV, tables, cut-off JSON, running text."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from assent.rules.guards import build_guard
from assent.rules.guards.masking import mask_result

RULE = build_guard({"rule": "forbid_fields", "fields": ["salary", "/user/home_address"], "action": "mask"})
SECRET = "98,765 zq"
TEXTS = {
    "a Python dict": "{'name': 'Ann', 'salary': '98,765 zq', 'city': 'Bern'}",
    "a Python dict with a number": "{'name': 'Ann', 'salary': 9876543210, 'city': 'Bern'}",
    "a dataclass": "User(name='Ann', salary='98,765 zq', city='Bern')",
    "a dataclass without quotes": "User(name=Ann, salary=98,765 zq, city=Bern)",
    "a dataclass at the end": "User(name='Ann', salary='98,765 zq')",
    "a nested repr": "User(name='Ann', salary=Money(amount='98,765 zq', unit='EUR'), city='Bern')",
    "a list": "salary=['98,765 zq', '98,765 zq'] city=Bern",
    "a Ruby hash": '{:name=>"Ann", "salary"=>"98,765 zq"}',
    "a PHP array": "array('name' => 'Ann', 'salary' => '98,765 zq')",
    "a Go struct": "{Name:Ann Salary:98,765 zq}",
    "a JavaScript object": "{ name: 'Ann', salary: '98,765 zq' }",
    "an assignment": 'user["salary"] = "98,765 zq"',
    "SQL quotes": "salary='98,765''98,765 zq'",
    "escaped quotes": '{"salary": "98\\"98,765 zq", x',
    "settings": "[user]\nname = Ann\nsalary = 98,765 zq\n",
    "an environment": "export SALARY='98,765 zq'",
    "a query": "https://example.com/?name=Ann&salary=98,765%20zq98,765 zq&x=1",
    "YAML": "user:\n  name: Ann\n  salary: 98,765 zq\n  city: Bern\n",
    "YAML with a block": "salary: |\n  98,765 zq\n  more 98,765 zq\ncity: Bern\n",
    "YAML with a list": "salary:\n  - 98,765 zq\n  - 98,765 zq\ncity: Bern\n",
    "YAML with a list that is not indented": "salary:\n- 98,765 zq\n- 98,765 zq\ncity: Bern\n",
    "YAML with an object": "salary:\n  amount: 98,765 zq\ncity: Bern\n",
    "XML": "<user><name>Ann</name><salary>98,765 zq</salary></user>",
    "XML with a prefix": "<u:user><u:salary unit='EUR'>98,765 zq</u:salary></u:user>",
    "XML with elements inside": "<salary><amount>98,765 zq</amount></salary><city>Bern</city>",
    "XML in upper case": "<USER><SALARY>98,765 zq</SALARY></USER>",
    "XML with CDATA": "<salary><![CDATA[98,765 zq]]></salary>",
    "XML that is cut off": "<user><salary>98,765 zq",
    "an XML attribute": '<user name="Ann" salary="98,765 zq"/>',
    "XML pairs": '<property name="salary" value="98,765 zq"/>',
    "XML entries": '<entry key="salary">98,765 zq</entry>',
    "a property list": "<dict><key>salary</key><string>98,765 zq</string></dict>",
    "a definition list": "<dl><dt>Salary</dt><dd>98,765 zq</dd></dl>",
    "an HTML table": "<table><tr><th>name</th><th>salary</th></tr><tr><td>Ann</td><td>98,765 zq</td></tr></table>",
    "an HTML table of pairs": "<tr><td>salary</td><td>98,765 zq</td></tr>",
    "CSV": 'name,salary,city\nAnn,"98,765 zq",Bern\nBob,"98,765 zq",Rom\n',
    "CSV with quotes": '"name","salary"\n"Ann","98,765 zq"\n',
    "CSV with semicolons": "name;salary;city\nAnn;98,765 zq;Bern\n",
    "CSV with tabs": "name\tsalary\tcity\nAnn\t98,765 zq\tBern\n",
    "CSV of the first column": 'Salary,name\n"98,765 zq",Ann\n',
    "CSV with line ends in cells": 'name,salary\n"A\nB","98,765 zq"\nBob,"98,765 zq"\n',
    "CSV with a row of another width": 'name,salary,city\nAnn,1,Bern\n"98,765 zq",Rom\n',
    "CSV with other line ends": 'name,salary\r\nAnn,"98,765 zq"\r\nBob,"98,765 zq"\r\n',
    "CSV behind a sentence": 'The rows are:\n\nname,salary\nAnn,"98,765 zq"\n',
    "a Markdown table": "| name | salary |\n|---|---|\n| Ann | 98,765 zq |\n| Bob | 98,765 zq |\n",
    "a Markdown table without edges": "name | salary\n--- | ---\nAnn | 98,765 zq\n",
    "a Markdown table of pairs": "| salary | 98,765 zq |\n| city | Bern |\n",
    "a table of a database": " name | salary | city \n------+-------+------\n Ann  | 98,765 zq | Bern\n(1 row)\n",
    "a table with lines": "+----+-----+\n| name | salary |\n+----+-----+\n| Ann  | 98,765 zq |\n+----+-----+\n",
    "a table with spaces": "NAME     SALARY       CITY\nAnn      98,765 zq    Bern\nBob      98,765 zq    Rom\n",
    "cut-off JSON": '{"name": "Ann", "salary": "98,765 zq',
    "cut-off JSON behind the value": '{"name": "Ann", "salary": "98,765 zq", "city": "Be',
    "cut-off JSON with a number": '{"name": "Ann", "salary": 9876543210, "city": "Be',
    "cut-off JSON with an object": '{"salary": {"amount": "98,765 zq", "unit": ["EUR", "98,765 zq"',
    "JSON with a comment": '{"name": "Ann", /* x */ "salary": "98,765 zq"}',
    "JSON with a last comma": '{"name": "Ann", "salary": "98,765 zq",}',
    "JSON with single values": "{'salary': '98,765 zq', 'ok': True, 'no': None}",
    "escaped JSON": '"{\\"name\\": \\"Ann\\", \\"salary\\": \\"98,765 zq\\"',
    "lines of JSON": '{"salary": "98,765 zq"}\n{"salary": "98,765 zq", \n',
    "a sentence": "For Ann the salary: 98,765 zq was agreed.",
    "a sentence with an equals sign": "We found salary = 98,765 zq for Ann.",
    "a bullet": "- **Salary:** 98,765 zq\n- **City:** Bern",
    "bold": "**Salary**: 98,765 zq",
    "code": "`salary`: `98,765 zq`",
    "an arrow": "salary -> 98,765 zq",
    "a header": "Name: Ann\r\nSalary: 98,765 zq\r\nCity: Bern",
    "a log line": 'level=info name=Ann salary="98,765 zq" city=Bern',
    "a pointer's last name": "home_address: 98,765 zq",
    "curly quotes": "salary: “98,765 zq”",
    "three quotes": 'salary = """98,765 zq\n98,765 zq"""',
}
HONEST = [
    "We spoke about salary and city.",
    "The salary is not known yet. Ask again tomorrow: we will see.",
    "salaryman: a word",
    "my-salary: another name",
    "name,city\nAnn,Bern\n",
    "| name | city |\n|---|---|\n| Ann | Bern |\n",
    "<name>Ann</name>",
    "Name, salary and city are the columns that we need.\nThey come later.",
    "Salary\n\nThis chapter is about pay.",
    "https://example.com/salary/report",
    "if salary > 5 and x < 3 then y",
    "total: 5\nname: Ann\n",
]
DOCUMENTS: dict[str, Any] = {
    "columns and rows": {"columns": ["name", "salary"], "rows": [["Ann", SECRET], ["Bob", SECRET]]},
    "columns as objects": {"fields": [{"name": "name", "type": "text"}, {"name": "salary"}], "data": [["Ann", SECRET]]},
    "rows below a header": {"values": [["name", "Salary"], ["Ann", SECRET], ["Bob", SECRET]]},
    "pairs": {"properties": [{"name": "city", "value": "Bern"}, {"name": "salary", "value": SECRET}]},
    "pairs by key": [{"key": "SALARY", "value": {"amount": SECRET}}],
}


def masked(text: str) -> str:
    result, _ = mask_result(RULE, {"content": [{"type": "text", "text": text}]})
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_of_the_value_is_left(name: str) -> None:
    text = masked(TEXTS[name])
    assert "98,765" not in text and "zq" not in text and "9876543210" not in text, text


@pytest.mark.parametrize("name", [name for name in TEXTS if "Bern" in TEXTS[name] and "of another width" not in name])
def test_a_value_beside_it_stays_where_its_end_is_clear(name: str) -> None:
    assert "Bern" in masked(TEXTS[name])


@pytest.mark.parametrize("text", HONEST)
def test_texts_without_the_field_stay(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("text", [*TEXTS.values()])
def test_masking_again_changes_nothing(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("as_text", [True, False])
def test_json_that_names_the_field_in_a_value_is_masked(name: str, as_text: bool) -> None:
    found = DOCUMENTS[name]
    result = (
        {"content": [{"type": "text", "text": json.dumps(found)}]} if as_text else {"structuredContent": {"r": found}}
    )
    text = json.dumps(mask_result(RULE, result)[0])
    assert SECRET not in text
    assert "Ann" in text or "Ann" not in json.dumps(found)


@pytest.mark.parametrize(
    "text",
    ['salary="' * 50_000, "salary={" * 50_000, "<salary>" * 50_000, "salary: |\n" * 40_000, "a,salary,b\n" * 40_000,
     "salary\\\\\\\\\" " * 40_000, "<th>salary</th>" * 20_000, "| salary " * 40_000, "salary 'x" * 40_000],
)  # fmt: skip
def test_reading_takes_a_time_in_proportion_to_the_text(text: str) -> None:
    begun = time.process_time()
    masked(text)
    assert time.process_time() - begun < 4.0


def test_many_masked_values_are_found_again_in_one_pass() -> None:
    rows = [{"salary": f"secret {n}", "note": f"she gets secret {n} now"} for n in range(20_000)]
    begun = time.process_time()
    found, count = mask_result(RULE, {"structuredContent": {"rows": rows}})
    assert time.process_time() - begun < 4.0
    assert count == 20_000
    assert "secret" not in json.dumps(found)
