# syntax=docker/dockerfile:1

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --bin glint \
    && install -D target/release/glint /out/glint \
    && install -d -o 65532 -g 65532 /out/state

FROM debian:bookworm-slim
# libgfapi is loaded when the first gluster volume is opened, and loads its translators from glusterfs-common in turn.
# glint needs nothing else at run time.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgfapi0 glusterfs-common \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/glint /usr/local/bin/glint
COPY --from=build /out/state /var/lib/glint

# Any uid will do; no capability, no privileged mode, no host network. Ports are above 1024.
USER 65532:65532
# The one place glint writes to: run it with --read-only and a volume here.
VOLUME /var/lib/glint
EXPOSE 3260 9480
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/glint"]
CMD ["serve", "-c", "/etc/glint/glint.toml"]
