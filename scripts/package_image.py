"""Makes the container image of a release: the program and the glibc that it starts with, nothing else.

    package_image.py INSTALLED SYSROOT VERSION FILE.tar

INSTALLED is what `cmake --install --prefix INSTALLED` wrote, SYSROOT is of scripts/sysroot. FILE is an OCI
image layout in a tar archive, which `podman load` and `docker load` take. Every file in it is as old as the
environment's SOURCE_DATE_EPOCH. Format: the OCI image specification 1.0; manifest.json is what versions of
Docker before 25 read instead."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import time

# What the program is linked with; what name resolution opens; what drivers' libraries, which container
# runtimes add to an image, are linked with besides.
LIBRARIES = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
             "libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2",
             "librt.so.1", "libutil.so.1"]
LINKER = "lib64/ld-linux-x86-64.so.2"
LGPL = pathlib.Path("/usr/share/common-licenses/LGPL-2.1")
NAME_RESOLUTION = b"passwd: files\ngroup: files\nhosts: files dns\n"
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def contents(installed, sysroot):
    """Paths in the image with (mode, content); content None: a folder."""
    folder = "lib/x86_64-linux-gnu"
    files = {f"{folder}/{name}": (0o755, (sysroot / folder / name).read_bytes()) for name in LIBRARIES}
    files[LINKER] = (0o755, (sysroot / LINKER).read_bytes())
    files["usr/bin/assay"] = (0o755, (installed / "bin/assay").read_bytes())
    files["etc/nsswitch.conf"] = (0o644, NAME_RESOLUTION)
    files["usr/share/doc/assay/LICENSE"] = (0o644, (installed / "share/doc/assay/LICENSE").read_bytes())
    files["usr/share/doc/assay/licenses.md"] = (
        0o644, (installed / "share/doc/assay/docs/licenses.md").read_bytes())
    files["usr/share/doc/libc6/copyright"] = (
        0o644, (sysroot / "usr/share/doc/libc6/copyright").read_bytes())
    files["usr/share/common-licenses/LGPL-2.1"] = (0o644, LGPL.read_bytes())
    files["tmp"] = (0o1777, None)
    files["work"] = (0o777, None)
    return files


def with_folders(files):
    parents = {str(parent) for path in files for parent in pathlib.PurePosixPath(path).parents} - {"."}
    return {parent: (0o755, None) for parent in parents} | files


def tar_of(files):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, (mode, content) in sorted(with_folders(files).items()):
            entry = tarfile.TarInfo(path)
            entry.mode, entry.mtime = mode, EPOCH
            if content is None:
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            else:
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def blob_path(content):
    return "blobs/" + digest(content).replace(":", "/")


def described(content, kind):
    """What the format calls a descriptor."""
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest(content),
            "size": len(content)}


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def image(layer_tar, version):
    """The layout's files."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    layer = gzip.compress(layer_tar, 9, mtime=0)
    config = as_json({
        "created": created, "architecture": "amd64", "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/assay"], "WorkingDir": "/work",
            # NVIDIA's container runtime adds the driver to images that ask for it.
            "Env": ["PATH=/usr/bin", "NVIDIA_VISIBLE_DEVICES=all",
                    "NVIDIA_DRIVER_CAPABILITIES=compute,utility"],
            "Labels": {"org.opencontainers.image.title": "assay",
                       "org.opencontainers.image.version": version,
                       "org.opencontainers.image.licenses": "Apache-2.0 AND LGPL-2.1-or-later"}},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer_tar)]},
        "history": [{"created": created, "created_by": "assay's scripts/package"}]})
    manifest = as_json({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described(config, "config.v1+json"),
        "layers": [described(layer, "layer.v1.tar+gzip")]})
    index = as_json({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [described(manifest, "manifest.v1+json") | {
            "platform": {"architecture": "amd64", "os": "linux"},
            "annotations": {"org.opencontainers.image.ref.name": f"assay:{version}"}}]})
    for_docker = as_json([{
        "Config": blob_path(config), "Layers": [blob_path(layer)], "RepoTags": [f"assay:{version}"]}])
    files = {blob_path(blob): blob for blob in (config, layer, manifest)}
    files |= {"index.json": index, "manifest.json": for_docker,
              "oci-layout": as_json({"imageLayoutVersion": "1.0.0"})}
    return {path: (0o644, content) for path, content in files.items()}


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    installed, sysroot, version, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:]
    layout = image(tar_of(contents(installed, sysroot)), version)
    pathlib.Path(out).write_bytes(tar_of(layout))


main()
