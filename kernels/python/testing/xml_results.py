"""unittest with a result that Bazel shows: each test and each skip with its
reason, where Bazel would have written one line for the file."""

import os
import unittest
from xml.sax.saxutils import quoteattr


class _Result(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.cases = []

    def stopTest(self, test):
        super().stopTest(test)
        inner = ""
        for kind, entries in (
            ("skipped", self.skipped),
            ("failure", self.failures + self.errors),
        ):
            for failed, why in entries:
                # Of a subtest: its test.
                if getattr(failed, "test_case", failed) is test:
                    inner = f"<{kind} message={quoteattr(why)}/>"
        name = quoteattr(test._testMethodName)
        classname = quoteattr(type(test).__name__)
        self.cases.append(f"<testcase name={name} classname={classname}>{inner}</testcase>")


def main():
    """unittest.main(), and the file that Bazel asks for."""
    runner = unittest.TextTestRunner(resultclass=_Result, verbosity=2)
    program = unittest.main(testRunner=runner, exit=False)
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        with open(path, "w") as file:
            cases = "".join(program.result.cases)
            file.write(f'<testsuites><testsuite name="unittest">{cases}</testsuite></testsuites>')
    raise SystemExit(not program.result.wasSuccessful())
