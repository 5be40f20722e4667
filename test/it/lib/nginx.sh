# SPDX-License-Identifier: Apache-2.0
# An nginx in front of a project's sockets, from the template that "locus create" uses.

nginx_program() { # its path; fails if it is not installed
	PATH=$PATH:/usr/sbin command -v nginx
}

# Starts nginx on the loopback port $nginx_port as the account of the project, with this file in its server block: by
# default the template, filled in for the services in DIR/run. Its directory is $work/nginx; its pid is $nginx_pid.
nginx_start() { # NAME [FILE]
	local owner=
	nginx_port=${nginx_port:-$(free_port)}
	[[ $(id -u) != 0 ]] || owner=$(stat -c %U "$project/config.xml")
	mkdir -p "$work/nginx/temp"
	[[ -n ${2:-} ]] || nginx_site "$1" >"$work/nginx/site.conf"
	nginx_conf "${2:-$work/nginx/site.conf}" >"$work/nginx/nginx.conf"
	[[ -z $owner ]] || chown -R "$owner" "$work/nginx"
	at_end nginx_stop
	# shellcheck disable=SC2086 # options are words
	LOCUS_RUN=$work ${owner:+setpriv --reuid=$owner --regid=$(id -g "$owner") --clear-groups --} \
		"$(nginx_program)" -e "$work/nginx/error.log" -c "$work/nginx/nginx.conf" 2>"$work/nginx/out" 7>&- &
	nginx_pid=$!
	within 60 curl -s -o /dev/null "http://127.0.0.1:$nginx_port/" || {
		cat "$work/nginx/out" "$work/nginx/error.log"
		return 1
	}
}

nginx_stop() {
	[[ -n ${nginx_pid:-} ]] || return 0
	kill "$nginx_pid" 2>/dev/null
	wait "$nginx_pid" 2>/dev/null
	nginx_pid=''
}

# What the template becomes for a project NAME with its sockets in $project/run.
nginx_site() { # NAME
	local busy run=$project/run
	busy=$(sed '1,/^$/d; s/$/\\/' "$source/html/busy.asis")
	sed -e "s|@NAME@|$1|g; s|@DOWNLOAD@|$project/download|g; s|@SCHEDULER@|$run/scheduler.sock|g" \
	    -e "s|@WEB@|$run/web.sock|g; s|@UPLOAD@|$run/upload.sock|g; s|@LIMIT@|${nginx_limit:-100}|g" \
	    -e "s|@BUSY@|${busy%\\}|" "$source/html/nginx-site.conf.in"
}

# The rest of nginx's configuration, with the lines that the template asks for.
nginx_conf() { # FILE
	cat <<-X
		daemon off;
		worker_processes 1;
		worker_rlimit_nofile $(ulimit -Hn);
		pid $work/nginx/nginx.pid;
		error_log $work/nginx/error.log warn;
		events { worker_connections 8192; }
		http {
		$(sed -n 's/^# *\(limit_conn_zone .*\|log_format .*\)/    \1/p' "$1")
		    access_log $work/nginx/access.log locus;
		    client_body_temp_path $work/nginx/temp/body;
		    fastcgi_temp_path $work/nginx/temp/fastcgi;
		    proxy_temp_path $work/nginx/temp/proxy;
		    uwsgi_temp_path $work/nginx/temp/uwsgi;
		    scgi_temp_path $work/nginx/temp/scgi;
		    server {
		        listen 127.0.0.1:$nginx_port backlog=4096;
		        server_name stars;
		        include $1;
		    }
		}
	X
}
