# The image of the lender gateway: docs/deploying.md says how to build and run it.
#
# The tag names Node and Debian exactly; whoever mirrors base images adds the digest of the mirror's. Both stages use the same one.

# Build: packages that run, at the versions of the lock. No package that runs has an install script, so none may run one.
FROM node:24.21.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# A registry of your own, with its credentials: docker build --secret id=npmrc,src=$HOME/.npmrc (kept out of every layer).
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm package-lock.json .npmrc
COPY LICENSE ./
COPY src src
# `lender-gateway status` and its like find the mounted folder without --config: they look for config/gateway.yaml.
RUN ln -s /etc/lender-gateway config && chmod -R a=rX . && chmod a+x src/lender-gateway.js
COPY config/image.yaml /etc/lender-gateway/gateway.yaml
RUN chmod 444 /etc/lender-gateway/gateway.yaml

# What a start, a health check and a reload compile, compiled once. The user that reads it makes it, since its folder's name holds the
# user's number; afterwards nobody can write it. A reload has a folder of its own (docs/design/decisions/049-what-is-off-is-not-loaded.md): it
# waits until the thread that read the first file has ended.
ENV NODE_COMPILE_CACHE=/app/.compiled
RUN install -d -o 10001 -g 10001 /app/.compiled
USER 10001:10001
RUN logged() { timeout 60 sh -c "until grep -q '$1' /tmp/warm.log; do sleep 0.1; done" || { cat /tmp/warm.log; exit 1; }; } \
    && { sed 's/port: 8080/port: 0/' /etc/lender-gateway/gateway.yaml; printf 'admin: { port: 0 }\nshutdown: { wait: 0s }\n'; } > /tmp/warm.yaml \
    && { node src/lender-gateway.js serve --config /tmp/warm.yaml > /tmp/warm.log & } \
    && logged '"listening"' && sleep 6 && kill -HUP $! && logged '"configuration unchanged"' \
    && kill $! && wait $! \
    && { node src/lender-gateway.js status --ready --config /tmp/warm.yaml; test -n "$(ls /app/.compiled)"; }
USER root
RUN chown -R root:root /app/.compiled && chmod -R a=rX /app/.compiled

# Run: Node and the gateway. Nothing can be installed in it, and nothing in it belongs to the user that runs it.
FROM node:24.21.0-trixie-slim
LABEL org.opencontainers.image.title="lender-gateway" \
      org.opencontainers.image.description="The single entry point to a lender integration service: exactly nine operations, rerouted by a config edit." \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-trixie-slim"
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
           /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    && ln -s /app/src/lender-gateway.js /usr/local/bin/lender-gateway
COPY --from=build /app /app
COPY --from=build /etc/lender-gateway /etc/lender-gateway
# Two arenas of glibc's: each of V8's threads would keep one, with what it once compiled (docs/design/decisions/049-what-is-off-is-not-loaded.md).
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/.compiled MALLOC_ARENA_MAX=2
WORKDIR /app
# A number, so that Kubernetes can tell that it is not root; no entry in /etc/passwd, and above those of the machines it runs on.
USER 10001:10001
# The public listener. The admin listener (9901) is on the container's own loopback, and stays there unless configured otherwise.
EXPOSE 8080
# Node is process 1 and gets the signals itself. SIGUSR1 would open its debugger. The bound on the young generation, in MiB,
# keeps 60 MB of garbage from being held under load (docs/design/performance.md).
ENTRYPOINT ["node", "--disable-sigusr1", "--max-semi-space-size=16", "/app/src/lender-gateway.js"]
CMD ["serve", "--config", "/etc/lender-gateway/gateway.yaml"]
# It starts a Node of its own each time, which takes some tenths of a second of CPU: not more often than this.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=2 \
  CMD ["node", "/app/src/lender-gateway.js", "status", "--ready", "--config", "/etc/lender-gateway/gateway.yaml"]
