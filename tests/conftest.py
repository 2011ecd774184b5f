"""One thread of PyTorch per test process: small networks on shared cores are faster so."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
