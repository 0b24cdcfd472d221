"""Published vectors: the certificate-transparency test tree, Go's checksum database, Google's Argon 2020 log.

Sources: transparency-dev/merkle (proof/verify_test.go, rfc6962/rfc6962_test.go), golang.org/x/mod
(sumdb/note/note_test.go, sumdb/client_test.go, sumdb/tlog/testdata/argon2020).
"""

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    bytes.fromhex(text)
    for text in (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
]
INCLUSION = {  # (index, size): audit path
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {  # (old, new): proof
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
    (6, 7): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
}

ARGON_SIZE = 961984013
ARGON_ROOT = "dwlueapdd7LaOEnX2W2Wp9v2XE+KzejHRQGHwEx0oaM="
ARGON_OLD = 3654490
ARGON_OLD_ROOT = "AuIZ5V6sDUj1vn3Y1K85oOaQ7y+FJJKtyRTl1edIKBQ="
_ARGON_PROOF = """
80Sfbj6UQEdVSZCSIgh9NMPj3vCBzcc1A48B2crJSWg= FZcrgAHUk6nNPviJZq8kEK6jCG1d18pJOFE45ZDc1TQ=
Q67reWXmPBo1UfmwBap4Xi9PMPfFdUSSw3WGlRZdG7k= eJ7CyhR4PxzBxDIsWgrVYW1eFUb9ndgf46tFmiqVrxA=
QrDwp062Grm5WY8KdrhFsBuuNjGzRox2Jb8PmVL5OYw= XM4YMjMEdLH/XJam/ZWyaP14k3cmsOtnPsOWQ54lW1s=
SGiBh+jOTGccXU48ZzgQ88lRcBmtB4wz4oSDndv2QTg= WAS6txqNLYKGL1GdBdpqmV42TTfn6cJsuDsqLXuTCNI=
QFmRS0rirUA7ZN3lxFjDncV+E1OCrn3NUB4RCp+5fzc= Hdbp7It2XBNZmNDBpCN/KPd7vfVqxgzwOosqVIaEA9E=
mxvHL0ZiblBdD7j7pIa1jlfB0gSqfJ6oX0UGo7L0VsU= q5hjyvoW6TL/PThgcitpDcSTrnKX2p1+aqscqH2euRA=
jTOWDqt3IHj2NVFeezyBz2ofpru+ztEywqKUAfFclKI= GIRn0w3HqJdvU9j1WVD//eR6lk2AaTVjyzjsJNP8U88=
x52GJvxG81fnQBrgOTbll1A5tz95/LXK0Ag1NhB0r1I= 6/0OqrcTgc3o5dD5PymmoC96lB9yLPFuTHVvLy8fSGk=
Gf+iKLfcXO5l4JEFmsZvSdG5q1uEeWPfYLrds6pmjz0= DGuaco+McyM3AfRSF6qX7RwSetwe2ieYJmxw5e9rVx0=
2tQJ9V32hnYp+fdpP6TcjmgJmLeNVOMKM0Ml1kk4cNU= 3PapK+IkyJr8I9yAErAmzuZezzLMzsg+PfeRCgNW8NQ=
s6xiYeejb+wtqHA+URJZ2I/SCPyIW8coP6aB00FJbMY= z9lSpmdTcr5M5ZzKlc4EPh3SrSypKFdk6JUF/UccaZU=
GXIElfmnRuWfbA4z7ubV/UwlpSRUbUeec7oL5HDDnh0= pR0SH/NYP6s9+8azWwaeUXA4Ze/3WCIgMfh5YW6wvcE=
f3GuAKYVrF8RBg3s15jvA/YvV9oAliWtzP/imwPhQVA= WHn8zDxlVgkV+lSlmzaOdfSBrTHoRr5nT3d76q0KKWE=
f2uV2ZxVgULzLPKuZcowRY3ZY7fRlX59iDBjV1R8kNQ= NzQVjJsvQwbi7WStMr9oFkh9VbHfK7LB6o7WwAqwNTs=
C0LttBeYHZHgL+032JIcJC3CTBIyza/hsbmJUgJfmDI= nixU5CWTFVDlF4BGdcU6kA7WSYurEpe9jRWc+F/7sOc=
"""
ARGON_CONSISTENCY = _ARGON_PROOF.split()

NOTE_SECRET = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
NOTE_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NOTE_OTHER_KEY = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
NOTE_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
NOTE_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
NOTE_OTHER_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)

SUMDB_SECRET = "PRIVATE+KEY+localhost.localdev/sumdb+00000c67+AXu6+oaVaOYuQOFrf1V59JK1owcFlJcHwwXHDfDGxSPk"
SUMDB_KEY = "localhost.localdev/sumdb+00000c67+AcTrnkbUA+TU4heY3hkjiSES/DSQniBqIeQ/YppAUtK6"
SUMDB_SIX = (
    "go.sum database tree\n6\nwc4SkQt52o5W2nQ8To2ARs+mWuUJjss+sdleoiqxMmM=\n\n"
    "— localhost.localdev/sumdb "
    "AAAMZ6oRNswlEZ6ZZhxrCvgl1MBy+nusq4JU+TG6Fe2NihWLqOzb+y2c2kzRLoCr4tvw9o36ucQEnhc20e4nA4Qc/wc=\n"
)
