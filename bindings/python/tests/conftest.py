"""Common code of all tests: output that `cargo xtask` parses."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The line from which `cargo xtask` counts tests, and one for each skipped test."""
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        print(f"SKIPPED: {report.nodeid}: {why.removeprefix('Skipped: ')}")
    passed = len(stats.get("passed", []))
    failed = len(stats.get("failed", [])) + len(stats.get("error", []))
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed;")
