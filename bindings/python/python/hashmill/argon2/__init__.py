"""Argon2: passwords as argon2-cffi stores and checks them."""
