#!/usr/bin/env bash
# Makes the secrets of the compose stack, each a file of random letters that git and the images leave out.
# What is there already is kept, so that a second call changes nothing.
set -euo pipefail
folder="$(cd "$(dirname "$0")" && pwd)/secrets"
mkdir -p "$folder"
# Others get no further than the folder; in a container the mounted files must be readable by its own user.
chmod 700 "$folder"

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { if [ ! -s "$folder/$1" ]; then cat >"$folder/$1"; else cat >/dev/null; fi; chmod 644 "$folder/$1"; }

random | keep s3_key
random | keep mariadb_password
random | keep mariadb_root_password
random | keep grafana_password
random | keep jwt_secret

key=$(cat "$folder/s3_key")
keep aws_credentials <<EOF
[default]
aws_access_key_id = babelray
aws_secret_access_key = $key
EOF
keep seaweedfs_s3.json <<EOF
{"identities": [{"name": "babelray", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
  "credentials": [{"accessKey": "babelray", "secretKey": "$key"}]}]}
EOF
keep mariadb_client.cnf <<EOF
[client]
user = babelray
password = $(cat "$folder/mariadb_password")
EOF
