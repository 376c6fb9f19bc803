"""Attention on a GPU without cuDNN."""

from __future__ import annotations

import threading


class CudnnAttentionDisabled:
    """A context without cuDNN's attention, which compiles a plan for each new batch shape.

    The setting is global, and several threads may compute at a time: the last one to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = True

    def __enter__(self) -> None:
        from torch.backends.cuda import cudnn_sdp_enabled, enable_cudnn_sdp

        with self._lock:
            if not self._inside:
                self._before = cudnn_sdp_enabled()
                enable_cudnn_sdp(False)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        from torch.backends.cuda import enable_cudnn_sdp

        with self._lock:
            self._inside -= 1
            if not self._inside:
                enable_cudnn_sdp(self._before)
