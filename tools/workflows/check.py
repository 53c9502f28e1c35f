#!/usr/bin/env python3
"""Checks GitHub Actions workflows as far as a file alone tells.

  check.py [--program=MLAFUZZ] FILE...

Of each file: YAML without duplicate keys; known keys, events and permissions;
cron lines; jobs whose `needs` name others without a cycle; steps that either use
an action at a version or run something; expressions that parse and name only
contexts that are there at their place, matrix values, needed jobs and steps that
the file defines, and functions that exist; shell blocks by shellcheck, without
values in them that an outsider chooses. No job on a self-hosted runner may be
reachable from a pull request. With --program, every `mlafuzz COMMAND --flag` in a
shell block is one that the program's own --help lists.

Prints FILE: what is wrong, a line each; exit code 1 if there is any. GitHub's own
schema is larger: what is not known here is refused.
"""

import re
import subprocess
import sys

import yaml

EVENTS = {
    "schedule": None,
    "workflow_dispatch": {"inputs"},
    "push": {"branches", "branches-ignore", "paths", "paths-ignore", "tags"},
    "pull_request": {"branches", "branches-ignore", "paths", "paths-ignore",
                     "types"},
    "pull_request_target": {"branches", "branches-ignore", "paths",
                            "paths-ignore", "types"},
    "workflow_call": {"inputs", "outputs", "secrets"},
    "issue_comment": {"types"},
    "merge_group": {"types"},
    "release": {"types"},
}
# Those by which somebody outside can bring in code or words.
OUTSIDERS = {"pull_request", "pull_request_target", "issue_comment",
             "merge_group", "workflow_call"}
TOP_KEYS = {"name", "run-name", "on", "permissions", "env", "defaults",
            "concurrency", "jobs"}
JOB_KEYS = {"name", "permissions", "needs", "if", "runs-on", "environment",
            "concurrency", "outputs", "env", "defaults", "steps",
            "timeout-minutes", "strategy", "continue-on-error", "container",
            "services"}
STEP_KEYS = {"id", "if", "name", "uses", "run", "working-directory", "shell",
             "with", "env", "continue-on-error", "timeout-minutes"}
PERMISSIONS = {"actions", "attestations", "checks", "contents", "deployments",
               "id-token", "issues", "packages", "pages", "pull-requests",
               "security-events", "statuses"}
FUNCTIONS = {"contains": (2, 2), "startsWith": (2, 2), "endsWith": (2, 2),
             "format": (1, 99), "join": (1, 2), "toJSON": (1, 1),
             "fromJSON": (1, 1), "hashFiles": (1, 99), "always": (0, 0),
             "success": (0, 99), "failure": (0, 99), "cancelled": (0, 0)}
# Contexts by where an expression stands.
IN_STEP = {"github", "needs", "strategy", "matrix", "job", "runner", "env",
           "vars", "secrets", "steps", "inputs"}
IN_JOB_IF = {"github", "needs", "vars", "inputs"}
IN_JOB = {"github", "needs", "strategy", "matrix", "vars", "inputs"}
IN_WORKFLOW = {"github", "vars", "inputs"}
STATUS = {"always", "success", "failure", "cancelled"}
# What an outsider of github.event chooses.
CHOSEN = re.compile(r"github\.(head_ref|event\.[\w.-]*(title|body|message|ref|"
                    r"label|name|email|page_name|default_branch))")
CRON = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


class Loader(yaml.SafeLoader):
    """Refuses duplicate keys, and leaves `on` a word."""


def _mapping(loader, node):
    loader.flatten_mapping(node)
    seen = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key_node.tag == "tag:yaml.org,2002:bool":
            key = key_node.value
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, "key %r twice" % key, key_node.start_mark)
        seen[key] = loader.construct_object(value_node, deep=True)
    return seen


Loader.add_constructor("tag:yaml.org,2002:map", _mapping)

TOKEN = re.compile(r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)"
                   r"|(?P<op>\|\||&&|==|!=|<=|>=|[!<>()\[\],.*])"
                   r"|(?P<name>[A-Za-z_][\w-]*))")


class Expression:
    """Parses one expression; collects its paths and functions."""

    def __init__(self, text):
        self.tokens, self.at = [], 0
        self.paths, self.calls = [], []
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ValueError("does not parse at %r" % text[at:])
            self.tokens.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        self.either()
        if self.at != len(self.tokens):
            raise ValueError("does not end before %r" % self.tokens[self.at][1])

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def take(self, value=None):
        kind, text = self.peek()
        if kind == "" or (value is not None and text != value):
            raise ValueError("needs %r, has %r" % (value or "a value", text))
        self.at += 1
        return kind, text

    def either(self):
        self.compared()
        while self.peek()[1] in ("||", "&&", "==", "!=", "<", ">", "<=", ">="):
            self.take()
            self.compared()

    def compared(self):
        while self.peek()[1] == "!":
            self.take()
        kind, text = self.take()
        if text == "(":
            self.either()
            self.take(")")
        elif kind == "name":
            self.named(text)
        elif kind not in ("string", "number"):
            raise ValueError("needs a value, has %r" % text)

    def named(self, name):
        if self.peek()[1] == "(":
            self.take("(")
            count = 0
            while self.peek()[1] != ")":
                if count:
                    self.take(",")
                self.either()
                count += 1
            self.take(")")
            self.calls.append((name, count))
            return
        if name in ("true", "false", "null"):
            return
        path = [name]
        while self.peek()[1] in (".", "["):
            if self.take()[1] == ".":
                path.append(self.take()[1])
            else:
                self.either()
                self.take("]")
                path.append("*")
        self.paths.append(path)


class Check:
    """Of one file."""

    def __init__(self, path, flags):
        self.path, self.flags, self.errors = path, flags, []

    def bad(self, where, what):
        self.errors.append("%s: %s: %s" % (self.path, where, what))

    def keys(self, where, value, known):
        if not isinstance(value, dict):
            self.bad(where, "is no mapping")
            return False
        for key in value:
            if key not in known:
                self.bad(where, "key %r is not known" % key)
        return True

    def run(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                workflow = yaml.load(file, Loader)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            self.bad("YAML", " ".join(str(error).split()))
            return self.errors
        if not self.keys("workflow", workflow, TOP_KEYS):
            return self.errors
        for key in ("on", "jobs"):
            if not workflow.get(key):
                self.bad("workflow", "has no %s" % key)
                return self.errors
        self.events = self.check_events(workflow["on"])
        self.permissions("workflow", workflow)
        for key in ("name", "run-name", "env", "concurrency"):
            self.expressions("workflow.%s" % key, workflow.get(key),
                             IN_WORKFLOW, {}, {})
        self.jobs = workflow["jobs"]
        if not isinstance(self.jobs, dict):
            self.bad("jobs", "is no mapping")
            return self.errors
        for name, job in self.jobs.items():
            self.check_job(name, job)
        self.check_order()
        return self.errors

    def check_events(self, events):
        if isinstance(events, str):
            events = [events]
        if isinstance(events, list):
            events = {event: None for event in events}
        for event, value in events.items():
            where = "on.%s" % event
            if event not in EVENTS:
                self.bad(where, "is no event that is known here")
            elif event == "schedule":
                for line in value if isinstance(value, list) else [{}]:
                    if self.keys(where, line, {"cron"}):
                        self.check_cron(where, str(line.get("cron", "")))
            elif value is not None:
                self.keys(where, value, EVENTS[event])
        return set(events)

    def check_cron(self, where, cron):
        fields = cron.split()
        if len(fields) != 5:
            self.bad(where, "cron %r has %d fields, not 5" % (cron, len(fields)))
            return
        for field, (low, high) in zip(fields, CRON):
            for part in field.split(","):
                match = re.fullmatch(r"(?:\*|(\d+)(?:-(\d+))?)(?:/(\d+))?", part)
                numbers = [int(n) for n in (match.groups()[:2] if match else ())
                           if n is not None]
                if match is None or any(n < low or n > high for n in numbers):
                    self.bad(where, "cron %r: %r is not %d to %d" %
                             (cron, part, low, high))

    def permissions(self, where, of):
        value = of.get("permissions")
        if value is None or value in ("read-all", "write-all"):
            return
        if self.keys(where + ".permissions", value, PERMISSIONS):
            for key, level in value.items():
                if level not in ("read", "write", "none"):
                    self.bad(where + ".permissions", "%s: %r" % (key, level))

    def check_job(self, name, job):
        where = "jobs.%s" % name
        if not re.fullmatch(r"[A-Za-z_][\w-]*", str(name)):
            self.bad(where, "is no name of a job")
        if not self.keys(where, job, JOB_KEYS):
            return
        needs = job.get("needs") or []
        needs = [needs] if isinstance(needs, str) else needs
        for needed in needs:
            if needed not in self.jobs:
                self.bad(where, "needs %r, which is no job" % needed)
        runner = job.get("runs-on")
        if not runner:
            self.bad(where, "has no runs-on")
        labels = [runner] if isinstance(runner, str) else list(runner or [])
        # What is computed may be anything.
        private = [str(label) for label in labels
                   if "self-hosted" in str(label) or "${{" in str(label)]
        if private and self.events & OUTSIDERS:
            self.bad(where, "%s can be reached by %s" %
                     (private[0], ", ".join(sorted(self.events & OUTSIDERS))))
        self.permissions(where, job)
        matrix = self.matrix(where, job.get("strategy"))
        for key, contexts in (("if", IN_JOB_IF), ("runs-on", IN_JOB),
                              ("name", IN_JOB), ("env", IN_JOB | {"secrets"}),
                              ("concurrency", IN_JOB), ("outputs", IN_STEP),
                              ("timeout-minutes", IN_JOB)):
            self.expressions("%s.%s" % (where, key), job.get(key), contexts,
                             matrix, needs, bare=key == "if")
        steps = job.get("steps")
        if not isinstance(steps, list) or not steps:
            self.bad(where, "has no steps")
            return
        self.steps = set()
        for i, step in enumerate(steps):
            self.check_step("%s.steps[%d]" % (where, i), step, matrix, needs)

    def matrix(self, where, strategy):
        if strategy is None:
            return set()
        where += ".strategy"
        if not self.keys(where, strategy, {"matrix", "fail-fast",
                                           "max-parallel"}):
            return set()
        matrix = strategy.get("matrix")
        if isinstance(matrix, str):  # computed: any value may be there
            self.expressions(where, matrix, IN_JOB, set(), [])
            return None
        if not isinstance(matrix, dict) or not matrix:
            self.bad(where, "has no matrix")
            return set()
        names = set()
        for key, values in matrix.items():
            if not isinstance(values, list) or not values:
                self.bad(where, "matrix.%s is no list of values" % key)
            elif key in ("include", "exclude"):
                for entry in values:
                    names |= set(entry)
            else:
                names.add(key)
        return names

    def check_step(self, where, step, matrix, needs):
        if not self.keys(where, step, STEP_KEYS):
            return
        if ("uses" in step) == ("run" in step):
            self.bad(where, "needs one of uses and run")
        uses = step.get("uses", "")
        if uses and not re.fullmatch(
                r"[\w.-]+/[\w./-]+@(v\d[\w.]*|[0-9a-f]{40})", uses):
            self.bad(where, "%r is no action at a version" % uses)
        for key, value in step.items():
            if key not in ("uses", "id"):
                self.expressions("%s.%s" % (where, key), value, IN_STEP, matrix,
                                 needs, bare=key == "if")
        if "run" in step:
            self.check_shell(where, str(step["run"]), step.get("shell", "bash"))
        if "id" in step:
            if step["id"] in self.steps:
                self.bad(where, "id %r twice" % step["id"])
            self.steps.add(step["id"])

    def expressions(self, where, value, contexts, matrix, needs, bare=False):
        if isinstance(value, dict):
            for key, inner in value.items():
                self.expressions("%s.%s" % (where, key), inner, contexts, matrix,
                                 needs)
            return
        if isinstance(value, list):
            for inner in value:
                self.expressions(where, inner, contexts, matrix, needs)
            return
        if not isinstance(value, str):
            return
        if value.count("${{") != len(re.findall(r"\$\{\{.*?\}\}", value, re.S)):
            self.bad(where, "an expression does not end")
        texts = re.findall(r"\$\{\{(.*?)\}\}", value, re.S)
        if bare and not texts:
            texts = [value]
        for text in texts:
            try:
                parsed = Expression(text)
            except ValueError as error:
                self.bad(where, "%r %s" % (text.strip(), error))
                continue
            for path in parsed.paths:
                self.check_path(where, path, contexts, matrix, needs)
            for name, count in parsed.calls:
                low, high = FUNCTIONS.get(name, (0, -1))
                if high < 0:
                    self.bad(where, "there is no function %r" % name)
                elif not low <= count <= high:
                    self.bad(where, "%s of %d values" % (name, count))
                elif name in STATUS and not where.endswith(".if"):
                    self.bad(where, "%s() has a meaning in `if` alone" % name)

    def check_path(self, where, path, contexts, matrix, needs):
        text = ".".join(path)
        if path[0] not in contexts:
            self.bad(where, "%s is not known here" % text)
        elif path[0] == "matrix" and matrix is not None and (
                len(path) < 2 or path[1] not in matrix):
            self.bad(where, "%s is in no matrix of the job" % text)
        elif path[0] == "needs" and (len(path) < 2 or path[1] not in needs):
            self.bad(where, "%s is no job that this one needs" % text)
        elif path[0] == "steps" and (
                len(path) < 2 or path[1] not in self.steps):
            self.bad(where, "%s is no step before this one" % text)
        elif path[0] == "strategy" and text not in (
                "strategy.job-total", "strategy.job-index",
                "strategy.fail-fast", "strategy.max-parallel"):
            self.bad(where, "%s is not known" % text)
        elif path[0] == "runner" and text not in (
                "runner.temp", "runner.os", "runner.arch", "runner.name",
                "runner.tool_cache", "runner.debug"):
            self.bad(where, "%s is not known" % text)

    def check_shell(self, where, text, shell):
        for match in re.findall(r"\$\{\{(.*?)\}\}", text, re.S):
            if CHOSEN.search(match):
                self.bad(where, "%s is chosen by an outsider; pass it by env" %
                         match.strip())
        text = re.sub(r"\$\{\{.*?\}\}", "1", text, flags=re.S)
        if shell not in ("bash", "sh"):
            self.bad(where, "shell %r is not checked here" % shell)
            return
        answer = subprocess.run(
            ["shellcheck", "--shell=" + shell, "--format=gcc", "-"], input=text,
            capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            self.bad(where, (answer.stdout + answer.stderr).strip())
        if self.flags is not None:
            self.check_flags(where, text)

    def check_flags(self, where, text):
        text = re.sub(r"\\\n", " ", text)
        for command, rest in re.findall(
                r"\bmlafuzz\"?\s+([a-z]+)((?:\s+[^|;&\n]*)?)", text):
            known = self.flags(command)
            if known is None:
                self.bad(where, "mlafuzz has no command %r" % command)
                continue
            for flag in re.findall(r"(?:^|\s)--([\w-]+)", rest):
                if flag not in known:
                    self.bad(where, "mlafuzz %s has no --%s" % (command, flag))

    def check_order(self):
        done = set()
        waiting = dict(self.jobs)
        while waiting:
            ready = []
            for name, job in waiting.items():
                needs = job.get("needs") or [] if isinstance(job, dict) else []
                needs = [needs] if isinstance(needs, str) else needs
                if all(n in done or n not in self.jobs for n in needs):
                    ready.append(name)
            if not ready:
                self.bad("jobs", "%s need each other" % ", ".join(waiting))
                return
            for name in ready:
                done.add(name)
                del waiting[name]


def flags_of(program):
    """A function: the flags of a command, or None."""
    known = {}

    def of(command):
        if command not in known:
            answer = subprocess.run([program, command, "--help"],
                                    capture_output=True, text=True, check=False)
            known[command] = None if answer.returncode else set(
                re.findall(r"^  --([\w-]+)", answer.stdout, re.M))
        return known[command]

    return of


def main(arguments):
    program = None
    files = []
    for argument in arguments:
        if argument.startswith("--program="):
            program = argument.split("=", 1)[1]
        else:
            files.append(argument)
    errors = []
    for path in files:
        errors += Check(path, flags_of(program) if program else None).run()
    print("\n".join(errors) if errors else "%d files are right" % len(files))
    return 1 if errors or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
