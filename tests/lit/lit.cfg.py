# How lit runs the tests of this folder: each file's RUN lines, in lit's own shell, with tilec and
# LLVM's FileCheck, not and split-file on the PATH. Paths come from lit.site.cfg.py in the build.
import os
import shutil

import lit.formats

config.name = "tile"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".tile", ".tir", ".test", ".py"]
config.excludes = ["lit.cfg.py", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.tile_exec_root

path = [os.path.dirname(config.tilec), config.llvm_tools_dir, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["TILE_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "CUDA_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%tilec", config.tilec))
config.substitutions.append(("%cc", config.c_compiler))
config.substitutions.append(("%examples", os.path.join(config.tile_source_root, "examples")))

# REQUIRES: ptxas · llvm-20 (this version or a later one)
ptxas = shutil.which("ptxas", path=config.environment["PATH"]) or "/usr/local/cuda/bin/ptxas"
if os.access(ptxas, os.X_OK):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
for version in range(19, config.llvm_version + 1):
    config.available_features.add("llvm-%d" % version)
