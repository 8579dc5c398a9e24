# The service as an image: `docker build --tag keyhole .`; see docs/howto/serve.md.
FROM python:3.11-slim AS build
COPY . /source
# Where there is no C compiler, the build fetches one (ziglang); it stays in this stage.
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source
RUN python -m venv /opt/keyhole \
 && /opt/keyhole/bin/pip install --no-cache-dir --only-binary :all: \
    "$(ls /wheels/keyhole-*.whl)[serve,postgres,report]"

FROM python:3.11-slim
LABEL org.opencontainers.image.title="keyhole" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --home-dir /data --create-home keyhole
COPY --from=build /opt/keyhole /opt/keyhole
ENV PATH=/opt/keyhole/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp/matplotlib \
    KEYHOLE_STORE=/data/keyhole.db
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8321
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8321/health', timeout=4)"]
ENTRYPOINT ["keyhole"]
# Refused until there is a key: `docker run ... keyhole keys create --role admin`.
CMD ["serve", "--host", "0.0.0.0", "--log-format", "json"]
