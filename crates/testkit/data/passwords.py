"""Password strings by the programs that people come from, one a line: maker, kind, password in hexadecimal digits, string.

`python3 passwords.py > passwords.txt` made the committed ones; tests run it again where it can run, with fresh salts.
Needs passlib, bcrypt (below 4.1), django, werkzeug and argon2-cffi for Python, htpasswd (apache2-utils) and php.
"""

import importlib.metadata
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
# Makers that are not there are left out, and named on standard error.
WORDS = ["password", "correct horse battery staple", "pässwörd €", "x", "0123456789" * 7 + "01", "a" * 100]


def say(maker, kind, password, string):
    print(maker, kind, password.encode().hex(), string)


def passlib():
    from passlib import hash as h

    for word in WORDS:
        for kind in ["2a", "2b", "2y"]:
            say("passlib", "bcrypt", word, h.bcrypt.using(rounds=4, ident=kind).hash(word))
        say("passlib", "bcrypt-sha256", word, h.bcrypt_sha256.using(rounds=4).hash(word))
        say("passlib", "bcrypt-sha256", word, h.bcrypt_sha256.using(rounds=4, version=1).hash(word))
        say("passlib", "scrypt", word, h.scrypt.using(rounds=5, block_size=8, parallelism=2).hash(word))
        say("passlib", "pbkdf2-sha1", word, h.pbkdf2_sha1.using(rounds=100).hash(word))
        say("passlib", "pbkdf2-sha256", word, h.pbkdf2_sha256.using(rounds=101, salt_size=20).hash(word))
        say("passlib", "pbkdf2-sha512", word, h.pbkdf2_sha512.using(rounds=102).hash(word))
        say("passlib", "pbkdf2-sha1", word, h.ldap_pbkdf2_sha1.using(rounds=7).hash(word))
        say("passlib", "pbkdf2-sha256", word, h.ldap_pbkdf2_sha256.using(rounds=7).hash(word))
        say("passlib", "pbkdf2-sha512", word, h.ldap_pbkdf2_sha512.using(rounds=7).hash(word))
        say("passlib", "bcrypt", word, h.ldap_bcrypt.using(rounds=4).hash(word))
    for maker in [h.bcrypt, h.scrypt, h.pbkdf2_sha256]:
        say("passlib", maker.name.replace("_", "-"), WORDS[0], maker.hash(WORDS[0]))


def django():
    from django.conf import settings

    if not settings.configured:
        settings.configure()
    from django.contrib.auth import hashers as h

    def cheap(maker, word, **costs):
        return maker().encode(word, maker().salt(), **costs)

    for word in WORDS:
        say("django", "pbkdf2-sha256", word, cheap(h.PBKDF2PasswordHasher, word, iterations=103))
        say("django", "pbkdf2-sha1", word, cheap(h.PBKDF2SHA1PasswordHasher, word, iterations=104))
        say("django", "scrypt", word, cheap(h.ScryptPasswordHasher, word, n=16, r=4, p=3))
        for maker in [h.BCryptPasswordHasher, h.BCryptSHA256PasswordHasher]:
            hasher = maker()
            hasher.rounds = 4
            kind = "bcrypt" if maker is h.BCryptPasswordHasher else "bcrypt-sha256"
            say("django", kind, word, hasher.encode(word, hasher.salt()))
        argon2 = h.Argon2PasswordHasher()
        argon2.memory_cost, argon2.time_cost, argon2.parallelism = 64, 1, 2
        say("django", "argon2id", word, argon2.encode(word, argon2.salt()))
    for maker in [h.PBKDF2PasswordHasher, h.ScryptPasswordHasher]:
        say("django", maker.algorithm.replace("_", "-"), WORDS[0], cheap(maker, WORDS[0]))


def werkzeug():
    from werkzeug.security import generate_password_hash

    for word in WORDS:
        for kind in ["pbkdf2:sha1:105", "pbkdf2:sha256:106", "pbkdf2:sha512:107", "scrypt:32:8:2"]:
            name = kind.split(":")[0] if kind.startswith("scrypt") else "-".join(kind.split(":")[:2])
            say("werkzeug", name, word, generate_password_hash(word, method=kind))
    say("werkzeug", "scrypt", WORDS[0], generate_password_hash(WORDS[0]))


def argon2():
    from argon2 import PasswordHasher

    for word in WORDS:
        say("argon2-cffi", "argon2id", word, PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(word))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def htpasswd():
    for word in WORDS:
        say("htpasswd", "bcrypt", word, output("htpasswd", "-nbBC", "4", "ann", word).split(":", 1)[1])


def php():
    code = "echo password_hash($argv[1], PASSWORD_BCRYPT, ['cost' => 4]);"
    for word in WORDS:
        say("php", "bcrypt", word, output("php", "-r", code, "--", word))
    say("php", "bcrypt", WORDS[0], output("php", "-r", "echo password_hash($argv[1], PASSWORD_DEFAULT);", "--", WORDS[0]))


def libxcrypt():
    import crypt

    for word in WORDS:
        for setting in ["$7$36..../....saltysalt", "$7$44....0....other"]:
            string = crypt.crypt(word, setting)
            if string is None or not string.startswith("$7$"):
                raise ImportError("this crypt(3) has no $7$")
            say("libxcrypt", "scrypt", word, string)


PACKAGES = {"passlib": "passlib", "django": "django", "werkzeug": "werkzeug", "argon2": "argon2-cffi"}

for make in [passlib, django, werkzeug, argon2, htpasswd, php, libxcrypt]:
    name = make.__name__
    try:
        if name in PACKAGES:
            print("#", PACKAGES[name], importlib.metadata.version(PACKAGES[name]))
        make()
    except (ImportError, OSError, AttributeError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
