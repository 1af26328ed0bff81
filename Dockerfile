# The image of api and workers. docker-compose.yml starts it, and says how it is watched and confined.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY minutebook ./minutebook
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
# Without pip in it; the extras are those of the box.
RUN python -m venv --without-pip /opt/minutebook \
 && pip --python /opt/minutebook/bin/python install --no-cache-dir "$(ls /wheels/*.whl)[models,redis,server]"
RUN mkdir /state

FROM python:3.11-slim-bookworm
COPY --from=build /opt/minutebook /opt/minutebook
COPY --from=build --chown=10001:10001 /state /var/lib/minutebook
ENV PATH=/opt/minutebook/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    MINUTEBOOK_HOME=/var/lib/minutebook \
    MINUTEBOOK_CONFIG=/config
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT ["om"]
CMD ["--help"]
