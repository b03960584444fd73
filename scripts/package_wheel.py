"""Makes the Python wheel of a release, with which `pip install FILE` puts assay on the PATH. It contains no
Python, only the program, its manual page, completions and licences.

    package_wheel.py INSTALLED VERSION SUMMARY FOLDER

INSTALLED is what `cmake --install --prefix INSTALLED` wrote. Every file in the wheel is as old as the
environment's SOURCE_DATE_EPOCH. Format: PyPA's specification "Binary distribution format"; pip puts what is
in NAME.data/scripts into the environment's bin, and NAME.data/data into its root."""
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

TAG = "py3-none-manylinux_2_31_x86_64"


def files_of(installed, version, summary):
    """Names in the wheel and their contents, but for RECORD."""
    data, info = f"assay-{version}.data", f"assay-{version}.dist-info"
    readme = (installed / "share/doc/assay/README.md").read_text()
    metadata = (f"Metadata-Version: 2.1\nName: assay\nVersion: {version}\nSummary: {summary}\n"
                "License: Apache-2.0\nLicense-File: LICENSE\nLicense-File: licenses.md\n"
                "Classifier: License :: OSI Approved :: Apache Software License\n"
                "Classifier: Operating System :: POSIX :: Linux\n"
                f"Description-Content-Type: text/markdown\n\n{readme}")
    wheel = f"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    files = {f"{data}/scripts/assay": (installed / "bin/assay").read_bytes()}
    for path in sorted((installed / "share").rglob("*")):
        name = path.relative_to(installed).as_posix()
        if path.is_file() and not name.startswith("share/doc/"):
            files[f"{data}/data/{name}"] = path.read_bytes()
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/licenses/LICENSE"] = (installed / "share/doc/assay/LICENSE").read_bytes()
    files[f"{info}/licenses/licenses.md"] = (installed / "share/doc/assay/docs/licenses.md").read_bytes()
    return files, f"{info}/RECORD"


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    installed, version, summary, folder = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    files, record = files_of(installed, version, summary)
    files[record] = ("".join(record_line(*file) for file in files.items()) + f"{record},,\n").encode()
    modified = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(f"{folder}/assay-{version}-{TAG}.whl", "w") as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, modified)
            mode = 0o100755 if "/scripts/" in name else 0o100644
            entry.external_attr = mode << 16
            entry.create_system = 3  # Unix, whose modes these are
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


main()
