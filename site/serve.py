"""A server of static pages with compression, as on common web servers. `scripts/site --serve` and the audit use it."""

import functools
import gzip
import http.server
import io
import os

PACKED = (".html", ".js", ".css", ".svg", ".json")


@functools.lru_cache(maxsize=None)
def packed(path, _changed):
    with open(path, "rb") as file:
        return gzip.compress(file.read(), 9, mtime=0)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves `directory`; prints only errors."""

    def send_head(self):
        path = self.translate_path(self.path)
        if os.path.isdir(path) and self.path.partition("?")[0].endswith("/"):
            path = os.path.join(path, "index.html")
        if not path.endswith(PACKED) or not os.path.isfile(path) or "gzip" not in self.headers.get("Accept-Encoding", ""):
            return super().send_head()
        data = packed(path, os.stat(path).st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Vary", "Accept-Encoding")
        self.end_headers()
        return io.BytesIO(data)

    def log_request(self, *_):
        pass


def server(folder, port=0):
    """Listens on this machine only; port 0 takes a free port."""
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=folder))
