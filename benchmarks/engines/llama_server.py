"""llama.cpp's HTTP server, until it is killed: `python -m benchmarks.engines.llama_server FILE PORT THREADS`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Serve a GGUF file."""
    import xllamacpp

    path, port, threads = sys.argv[1:]
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.hostnames = ["127.0.0.1"]
    settings.port = int(port)
    settings.cpuparams.n_threads = int(threads)
    settings.n_parallel = 4
    settings.n_ctx = 4 * 4096  # divided among the four
    settings.use_jinja = True
    settings.endpoint_metrics = True
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
