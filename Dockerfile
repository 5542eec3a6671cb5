ARG PYTHON_IMAGE=python:3.11-slim
ARG NODE_IMAGE=node:22-slim

# The modeler's files, each by its checksum.
FROM ${NODE_IMAGE} AS modeler
RUN apt-get update && apt-get install --yes --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY processes/workflows/modeler/ /modeler/
RUN python3 /modeler/fetch.py

FROM ${PYTHON_IMAGE}

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    DATA_DIR=/data \
    BIND_ADDRESS=0.0.0.0

RUN useradd --create-home --uid 10001 postern && install --directory --owner=postern --mode=0700 /data
WORKDIR /app

# Before the source, so that a change of the source does not install everything again.
COPY requirements.txt .
RUN pip install --require-hashes --no-deps --requirement requirements.txt

COPY . .
COPY --from=modeler /modeler/assets/ processes/workflows/modeler/assets/
USER postern
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ.get(\"PORT\", 8000)}/healthz', timeout=3)"]

CMD ["sh", "-c", "python manage.py prepare && exec python manage.py up"]
