"""Check digits of numbers: cards, bank accounts and national identity numbers."""

from __future__ import annotations

import re
from datetime import date

_VERHOEFF_D = (
    *("0123456789", "1234067895", "2340178956", "3401289567", "4012395678"),
    *("5987604321", "6598710432", "7659821043", "8765932104", "9876543210"),
)
_VERHOEFF_P = (
    *("0123456789", "1576283094", "5803796142", "8916043527"),
    *("9453126870", "4286573901", "2793806415", "7046913258"),
)
IBAN_LENGTHS = {
    **{"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28},
    **{"CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18},
    **{"FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22},
    **{"IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20},
    **{"LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15},
    **{"PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19},
    **{"SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20},
}


def digits_of(text: str) -> str:
    return "".join(character for character in text if "0" <= character <= "9")


def luhn(text: str) -> bool:
    """The check digit of cards and of several identity numbers."""
    total = 0
    for place, digit in enumerate(reversed(digits_of(text))):
        number = int(digit) * (2 if place % 2 else 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def card(text: str) -> bool:
    """A card number: the beginning of an issuer, a length that it uses, and the check digit."""
    number = digits_of(text)
    issued = re.match(
        r"4|5[1-5]|2[2-7]|3[47]|6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])|3(?:0[0-5]|[68])|62|50|5[6-9]|6[0-9]", number
    )
    return issued is not None and 13 <= len(number) <= 19 and len(set(number)) > 1 and luhn(number)


def iban(text: str) -> bool:
    """A bank account number: the length of its country, and the remainder 1 modulo 97."""
    plain = re.sub(r"[\s-]", "", text).upper()
    if IBAN_LENGTHS.get(plain[:2]) != len(plain):
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _weighted(number: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=False))


def us_social_security(text: str) -> bool:
    """A US number has no check digit; ranges that are never given out are left out."""
    area, group, serial = (number := digits_of(text))[:3], number[3:5], number[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000" and len(set(number)) > 1


def uk_health(text: str) -> bool:
    """The NHS number, modulo 11."""
    number = digits_of(text)
    check = 11 - _weighted(number, tuple(range(10, 1, -1))) % 11
    return len(number) == 10 and len(set(number)) > 1 and check != 10 and check % 11 == int(number[9])


def german_tax(text: str) -> bool:
    """The German tax number: ISO 7064 modulo 11,10, and one digit that occurs two or three times."""
    number, product = digits_of(text), 10
    if len(number) != 11 or number[0] == "0" or not 1 <= 10 - len(set(number[:10])) <= 2:
        return False
    for digit in number[:10]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(number[10])


def french_insurance(text: str) -> bool:
    """The French social security number with its key, modulo 97."""
    plain = re.sub(r"[\s.-]", "", text).upper()
    number = plain[:13].replace("2A", "19", 1).replace("2B", "18", 1)
    return number.isdecimal() and plain[13:].isdecimal() and 97 - int(number) % 97 == int(plain[13:])


def spanish_identity(text: str) -> bool:
    """The Spanish DNI and NIE, whose letter is the number modulo 23."""
    plain = re.sub(r"[\s.-]", "", text).upper()
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return number.isdecimal() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


def italian_tax(text: str) -> bool:
    """The Italian tax code, whose last letter is a check letter."""
    plain = text.upper()
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    total = 0
    for place, character in enumerate(plain[:15]):
        value = int(character) if character.isdecimal() else ord(character) - 65
        total += value if place % 2 else odd[value]
    return chr(65 + total % 26) == plain[15]


def dutch_citizen(text: str) -> bool:
    """The Dutch BSN, modulo 11."""
    number = digits_of(text)
    return len(number) == 9 and len(set(number)) > 1 and _weighted(number, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def polish_citizen(text: str) -> bool:
    """The Polish PESEL: a date of birth and a weighted check digit."""
    number = digits_of(text)
    check = (10 - _weighted(number, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10
    return len(number) == 11 and check == int(number[10]) and _is_day(int(number[2:4]) % 20, int(number[4:6]))


def swedish_person(text: str) -> bool:
    """The Swedish personal number: a date of birth and a Luhn digit."""
    number = digits_of(text)[-10:]
    return luhn(number) and _is_day(int(number[2:4]), int(number[4:6]) % 60)


def brazilian_tax(text: str) -> bool:
    """The Brazilian CPF with its two check digits."""
    number = digits_of(text)
    if len(number) != 11 or len(set(number)) == 1:
        return False
    return all(_weighted(number[:n], tuple(range(n + 1, 1, -1))) * 10 % 11 % 10 == int(number[n]) for n in (9, 10))


def indian_identity(text: str) -> bool:
    """The Indian Aadhaar number with its Verhoeff digit."""
    number, check = digits_of(text), 0
    if len(number) != 12 or number[0] in "01":
        return False
    for place, digit in enumerate(reversed(number)):
        check = int(_VERHOEFF_D[check][int(_VERHOEFF_P[place % 8][int(digit)])])
    return check == 0


def chinese_identity(text: str) -> bool:
    """The Chinese identity number: a date of birth and a check character modulo 11."""
    plain = text.upper()
    total = _weighted(plain[:17], (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2))
    return "10X98765432"[total % 11] == plain[17] and _is_day(int(plain[10:12]), int(plain[12:14]))


def _is_day(month: int, day: int) -> bool:
    try:
        date(2000, month, day)
    except ValueError:
        return False
    return True
