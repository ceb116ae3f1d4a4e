# Cursor's command line, alone in an image. No registry has it: the context is what the operator downloaded, laid out by `docker/images`.
FROM scratch
COPY agents /opt/agents
CMD ["this image only holds a program for sessions"]
