#!/usr/bin/env python3
"""Each fault that check.py is to see, put into a workflow that is right."""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402  (beside this file)

RIGHT = """\
name: words
on:
  schedule: [{cron: "0 1 * * 1-5"}]
  push: {branches: [main]}
permissions: {contents: read}
jobs:
  one:
    runs-on: [self-hosted, sm_120]
    strategy:
      matrix: {shard: [0, 1]}
    steps:
      - uses: actions/checkout@v4
      - id: first
        run: echo "shard=${{ matrix.shard }}" >> "$GITHUB_OUTPUT"
      - if: always() && steps.first.outcome == 'success'
        run: |
          mlafuzz replay \\
            --target=x cases
          echo "$WORDS" ${{ strategy.job-total }}
        env: {WORDS: "${{ github.event.head_commit.message }}"}
  two:
    needs: one
    if: ${{ !cancelled() && needs.one.result != 'skipped' }}
    runs-on: ubuntu-24.04
    steps:
      - run: echo "${{ format('{0}', github.sha) }}"
"""

# From, to, what is said of it.
FAULTS = [
    ("name: words", "name: words\nname: again", "key 'name' twice"),
    ("name: words", "nam: words", "key 'nam' is not known"),
    ("jobs:", "jobs: {", "YAML"),
    ("0 1 * * 1-5", "0 1 * *", "has 4 fields"),
    ("0 1 * * 1-5", "0 25 * * *", "'25' is not 0 to 23"),
    ("push: {branches", "pushed: {branches", "is no event"),
    ("push: {branches", "push: {branch", "key 'branch' is not known"),
    ("  push: {branches: [main]}", "  pull_request:",
     "self-hosted can be reached by pull_request"),
    ("  push: {branches: [main]}", "  pull_request_target:",
     "self-hosted can be reached by pull_request_target"),
    ("contents: read", "contents: all", "contents: 'all'"),
    ("contents: read", "content: read", "key 'content' is not known"),
    ("needs: one", "needs: three", "needs 'three', which is no job"),
    ("  one:\n    runs-on", "  one:\n    needs: two\n    runs-on",
     "one, two need each other"),
    ("    runs-on: ubuntu-24.04\n", "", "has no runs-on"),
    ("runs-on: ubuntu-24.04", "runson: ubuntu-24.04",
     "key 'runson' is not known"),
    ("matrix: {shard: [0, 1]}", "matrix: {shards: [0, 1]}",
     "matrix.shard is in no matrix"),
    ("matrix: {shard: [0, 1]}", "matrix: {shard: []}", "is no list of values"),
    ("actions/checkout@v4", "actions/checkout", "is no action at a version"),
    ("actions/checkout@v4", "actions/checkout@main", "is no action at a version"),
    ("- uses: actions/checkout@v4", "- uses: actions/checkout@v4\n        run: x",
     "needs one of uses and run"),
    ("${{ matrix.shard }}", "${{ matrix.shard }", "does not end"),
    ("${{ matrix.shard }}", "${{ matrix.shard == }}", "needs 'a value'"),
    ("${{ matrix.shard }}", "${{ matrixx.shard }}", "matrixx.shard is not known"),
    ("steps.first", "steps.second", "steps.second.outcome is no step before"),
    ("needs.one.result", "needs.two.result", "is no job that this one needs"),
    ("needs.one.result", "secrets.one", "secrets.one is not known here"),
    ("always()", "alwaysx()", "there is no function 'alwaysx'"),
    ("always()", "always(1)", "always of 1 values"),
    ("format('{0}', github.sha)", "always()", "has a meaning in `if` alone"),
    ("strategy.job-total", "strategy.job_total", "is not known"),
    ("strategy.job-total", "github.event.head_commit.message",
     "is chosen by an outsider"),
    ('echo "$WORDS"', "echo $WORDS", "SC2086"),
    ('echo "$WORDS"', "if true; then echo", "SC1"),
    ("--target=x", "--targets=x", "mlafuzz replay has no --targets"),
    ("mlafuzz replay", "mlafuzz replays", "mlafuzz has no command 'replays'"),
    ("      - run: echo \"${{ format('{0}', github.sha) }}\"\n", "      []\n",
     "has no steps"),
]


def errors_of(text, flags):
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write(text)
        file.flush()
        return check.Check(file.name, flags).run()


def main(program):
    failed = 0
    flags = check.flags_of(program)
    said = errors_of(RIGHT, flags)
    if said:
        print("FAILED: what is right: %s" % said)
        failed = 1
    for before, after, words in FAULTS:
        assert before in RIGHT, before
        said = errors_of(RIGHT.replace(before, after), flags)
        if not any(words in line for line in said):
            print("FAILED: %r for %r: wanted %r\n%s" %
                  (after, before, words, said))
            failed = 1
    print("%d faults" % len(FAULTS))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
