"""Tests with an S3-compatible server that checks signatures and policies: moto's, in a separate process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pyarrow
import pyarrow.parquet as parquet
import pytest
from botocore.config import Config
from hashmill.blake3 import blake3
from hashmill.inventory import Hasher, hash, verify

POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
        {"Effect": "Deny", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/closed/*"},
    ],
}


@dataclass(frozen=True)
class Server:
    client: Any
    store: dict[str, str]

    def put(self, key: str, body: bytes) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.put_object(Bucket="bucket", Key=key, Body=body)
        return answer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # Set-up before signatures are checked: a user, a policy, a key.
    environment = os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "3", "PYTHONUNBUFFERED": "1"}
    program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = None
            said = []
            while found is None and (line := process.stderr.readline()):
                said.append(line)
                found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            assert found, "".join(said)
            endpoint = f"http://127.0.0.1:{found[1]}"
            nobody = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
            users = boto3.client("iam", endpoint_url=endpoint, **nobody)
            users.create_user(UserName="who")
            users.put_user_policy(UserName="who", PolicyName="most", PolicyDocument=json.dumps(POLICY))
            key = users.create_access_key(UserName="who")["AccessKey"]
            store = {
                "aws_endpoint": endpoint,
                "aws_region": "us-east-1",
                "aws_access_key_id": key["AccessKeyId"],
                "aws_secret_access_key": key["SecretAccessKey"],
                "allow_http": "true",
            }
            client = boto3.client(
                "s3",
                endpoint_url=endpoint,
                region_name="us-east-1",
                aws_access_key_id=key["AccessKeyId"],
                aws_secret_access_key=key["SecretAccessKey"],
                config=Config(s3={"addressing_style": "path"}),
            )
            client.create_bucket(Bucket="bucket")
            yield Server(client, store)
        finally:
            process.kill()


def answer(server: Server, **columns: list[Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Hasher(store=server.store, retries=1)(pyarrow.table(columns)).to_pylist()
    return rows


def test_s3_inventory(server: Server, tmp_path: Path) -> None:
    keys = ["plain", "with space", "per%20cent", "ünï", "a/b/c", "plus+", "question?x=1", "#hash", "empty"]
    bodies = {key: key.encode() * 1000 if key != "empty" else b"" for key in keys}
    for key, body in bodies.items():
        server.put(f"keys/{key}", body)
    listed = server.client.list_objects_v2(Bucket="bucket", Prefix="keys/")["Contents"]
    inventory = pyarrow.table(
        {
            "bucket": ["bucket"] * len(listed),
            "key": [entry["Key"] for entry in listed],
            "size": [entry["Size"] for entry in listed],
            "e_tag": [entry["ETag"].strip('"') for entry in listed],
        }
    )
    parquet.write_table(inventory, tmp_path / "inventory.parquet")
    summary = hash(tmp_path / "inventory.parquet", tmp_path / "out", store=server.store)
    assert summary.ok and summary.rows == len(keys)
    assert summary.bytes == sum(map(len, bodies.values()))
    rows = parquet.read_table(tmp_path / "out").to_pylist()
    found = {row["url"].removeprefix("s3://bucket/keys/"): row["blake3"] for row in rows}
    assert found == {key: blake3(body).digest() for key, body in bodies.items()}
    assert verify(tmp_path / "out", tmp_path / "verified", store=server.store).matched == len(keys)


def test_impossible_rows_have_error_messages(server: Server) -> None:
    server.put("closed/x", b"secret")
    server.put("open", b"open")
    urls = ["s3://bucket/nothing", "s3://nobucket/x", "s3://bucket/closed/x", "s3://bucket/open"]
    rows = answer(server, url=urls)
    assert [row["status"] for row in rows] == ["missing", "missing", "denied", "hashed"]
    wrong = Server(server.client, server.store | {"aws_secret_access_key": "another"})
    assert answer(wrong, url=["s3://bucket/open"])[0]["status"] == "denied"


def test_object_changed_since_it_was_listed(server: Server) -> None:
    then = server.put("changing", b"then")
    now = server.put("changing", b"now!")
    assert then["ETag"] != now["ETag"]
    rows = answer(server, url=["s3://bucket/changing"] * 3, etag=[then["ETag"], now["ETag"], None], size=[4, 4, 5])
    assert [row["status"] for row in rows] == ["changed", "hashed", "changed"]
    assert rows[1]["etag"] == now["ETag"] and rows[1]["blake3"] == blake3(b"now!").digest()


def test_listed_version_is_requested(server: Server) -> None:
    server.client.create_bucket(Bucket="versions")
    server.client.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    put = [server.client.put_object(Bucket="versions", Key="x", Body=body) for body in (b"one", b"two")]
    versions = [answer["VersionId"] for answer in put]
    rows = answer(server, url=["s3://versions/x"] * 3, version_id=[*versions, None])
    assert [row["blake3"] for row in rows] == [blake3(body).digest() for body in (b"one", b"two", b"two")]


def test_large_object_is_read_in_parts(server: Server) -> None:
    body = bytes(range(256)) * (35 << 12) + b"end"
    server.put("large", body)
    table = pyarrow.table({"url": ["s3://bucket/large"], "size": [len(body)]})
    for connections in (1, 4):
        row = Hasher(store=server.store, split=1, connections=connections)(table).to_pylist()[0]
        assert row["blake3"] == blake3(body).digest(), row


def test_credentials_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.put("open", b"open")
    for name, value in server.store.items():
        monkeypatch.setenv(name.upper() if name.startswith("aws_") else "AWS_ALLOW_HTTP", value)
    row = Hasher()(pyarrow.table({"url": ["s3://bucket/open"]})).to_pylist()[0]
    assert row["status"] == "hashed", row


def digest_of(file: bytes) -> Any:
    """An answer without the messages of errors, which contain times."""
    return parquet.read_table(pyarrow.BufferReader(file)).drop(["error"]).to_pylist() if file[:4] == b"PAR1" else file


def everything(server: Server, prefix: str) -> dict[str, Any]:
    digests_by_key = {}
    for entry in server.client.list_objects_v2(Bucket="bucket", Prefix=prefix)["Contents"]:
        body = server.client.get_object(Bucket="bucket", Key=entry["Key"])["Body"].read()
        digests_by_key[entry["Key"].removeprefix(prefix)] = digest_of(body)
    return digests_by_key


def test_inventories_and_results_in_stores(server: Server, tmp_path: Path) -> None:
    """One file, several, a folder with other files: the same inventory as on a disk, with the same results."""
    bodies = [bytes([number]) * number for number in range(1, 31)]
    for number, body in enumerate(bodies):
        server.put(f"small/{number}", body)
    urls = [f"s3://bucket/small/{number}" for number in range(30)] + ["s3://bucket/small/none"]
    # Metadata that exceeds the first read at the end of a file.
    wide = {f"column{number}": pyarrow.array(range(18)) for number in range(400)}
    tables = [pyarrow.table({"url": urls[:13]}), pyarrow.table({"url": urls[13:]} | wide)]
    for name, table in zip("ab", tables, strict=True):
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=5)
        server.put(f"inventory/{name}.parquet", (tmp_path / f"{name}.parquet").read_bytes())
    server.put("inventory/_notes.parquet", b"no data")
    assert hash(tmp_path, tmp_path / "out", store=server.store, part_rows=7).hashed == 30
    expected = {file.name: digest_of(file.read_bytes()) for file in (tmp_path / "out").iterdir()}
    folder = "s3://bucket/inventory"
    files = [f"{folder}/a.parquet", f"{folder}/b.parquet"]
    for number, inventory in enumerate([folder, f"{folder}/", files, [tmp_path / "a.parquet", files[1]]]):
        for index in range(3):
            hash(inventory, f"s3://bucket/out{number}/", store=server.store, part_rows=7, shard=(index, 3))
        assert everything(server, f"out{number}/") == expected
    # It continues with the missing parts only.
    server.client.delete_object(Bucket="bucket", Key="out0/part-000000000007-000000000014.parquet")
    again = hash(folder, "s3://bucket/out0", store=server.store, part_rows=7)
    assert (again.parts, again.skipped, again.hashed) == (1, 4, 30)
    assert everything(server, "out0/") == expected
    with pytest.raises(ValueError, match="take another folder"):
        hash(files[0], "s3://bucket/out0", store=server.store, part_rows=7)
    verified = verify("s3://bucket/out0", "s3://bucket/verified", store=server.store)
    assert (verified.matched, verified.rows) == (30, 31)


def test_invalid_inventories_in_stores(server: Server, tmp_path: Path) -> None:
    server.put("closed/inventory.parquet", b"x")
    server.put("broken/none.parquet", b"")
    server.put("broken/text.parquet", b"x" * 1000)
    server.put("broken/long.parquet", b"x" * 1000 + b"\xf0\x00\x00\x10PAR1")
    server.put("notes/readme", b"x")
    parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "x.parquet")
    server.put("columns.parquet", (tmp_path / "x.parquet").read_bytes())
    for name, kind in [
        ("s3://bucket/nothing", FileNotFoundError),
        ("s3://nobucket", OSError),
        ("s3://bucket/closed/inventory.parquet", PermissionError),
        ("s3://bucket/broken/none.parquet", OSError),
        ("s3://bucket/broken/text.parquet", ValueError),
        ("s3://bucket/broken/long.parquet", ValueError),
        ("s3://bucket/columns.parquet", ValueError),
        ("s3://bucket/notes", ValueError),
        ("s3://", ValueError),
        ("ftp://host/x", ValueError),
    ]:
        with pytest.raises(kind):
            hash(name, tmp_path / "out", store=server.store, retries=1)
    with pytest.raises(ValueError, match="web server"):
        hash(_listing(tmp_path, ["nothing"]), "http://127.0.0.1/out")
    with pytest.raises(FileNotFoundError):
        hash(_listing(tmp_path, ["nothing"]), "s3://nobucket/out", store=server.store, retries=1)


def _listing(folder: Path, urls: list[str]) -> Path:
    parquet.write_table(pyarrow.table({"url": urls}), folder / "listing.parquet")
    return folder / "listing.parquet"
