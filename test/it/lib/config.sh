# SPDX-License-Identifier: Apache-2.0
# Options in the project's config.xml.

project_option() { # NAME: its value
	sed -n "s:.*<$1>\(.*\)</$1>.*:\1:p" "$project/config.xml"
}

set_option() { # NAME VALUE: the only one of this name from now on
	local value=${2//\\/\\\\}
	value=${value//&/\\&}
	sed -i "s|<$1>[^<]*</$1>||g; s|</config>|<$1>${value//|/\\|}</$1>\n&|" "$project/config.xml"
}

unset_option() { # NAME
	sed -i "s|<$1>[^<]*</$1>||g" "$project/config.xml"
}

# Adds lines in place of those that the last call has added.
configure() { # XML
	sed -i '/<!-- more -->/d' "$project/config.xml"
	sed -i "s|</config>|$1<!-- more -->\n&|" "$project/config.xml"
}
