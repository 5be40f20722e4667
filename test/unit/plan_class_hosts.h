/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, as parts of requests, on which plan classes are tried. */
#ifndef TEST_PLAN_CLASS_HOSTS_H
#define TEST_PLAN_CLASS_HOSTS_H

#define HOST(inside) "<host_info>" inside "</host_info>"
/* The last of several elements with the same scalar counts, so table rows can override
 * the base host. */
#define BASE                                                                           \
	"<core_client_major_version>7</core_client_major_version>"                     \
	"<core_client_minor_version>20</core_client_minor_version>"                    \
	"<core_client_release>5</core_client_release>"                                 \
	"<client_cap_plan_class>1</client_cap_plan_class>"                             \
	"<platform_name>x86_64-pc-linux-gnu</platform_name>" HOST(                     \
	    "<p_ncpus>4</p_ncpus><p_vendor>GenuineIntel</p_vendor>"                    \
	    "<p_model>Intel(R) Xeon(R) Processor</p_model>"                            \
	    "<p_features>fpu sse sse2 avx</p_features>"                                \
	    "<os_name>Linux Debian</os_name><os_version>Debian GNU/Linux 12 "          \
	    "(bookworm) [6.18.44-fc-v445|libc 2.36]</os_version>")
#define WINDOWS                                                                        \
	HOST("<os_name>Microsoft Windows 10</os_name><os_version>Core x64 Edition, "   \
	     "(10.00.19041.00)</os_version>")
#define ANDROID                                                                        \
	HOST("<os_name>Linux</os_name><os_version>3.10.49-geeb2cf2 (Android "          \
	     "5.1.1)</os_version>")
#define DISTRO                                                                         \
	HOST("<wsl><distro><distro_name>Old</distro_name><disallowed/></distro>"       \
	     "<distro><distro_name>boinc-buda-runner</distro_name>"                    \
	     "<distro_version>4</distro_version><libc_version>2.36</libc_version>"     \
	     "<docker_version>5.4</docker_version></distro></wsl>")
#define OPENCL_CPU                                                                     \
	HOST("<opencl_cpu_prop><platform_vendor>Intel</platform_vendor>"               \
	     "<opencl_cpu_info><opencl_device_version>OpenCL 2.0 (Build 10)"           \
	     "</opencl_device_version></opencl_cpu_info></opencl_cpu_prop>")
#define NVIDIA                                                                         \
	"<coprocs><coproc_cuda><count>2</count><name>RTX 3080</name>"                  \
	"<available_ram>9663676416</available_ram><have_cuda>1</have_cuda>"            \
	"<peak_flops>1e13</peak_flops><cudaVersion>12020</cudaVersion>"                \
	"<drvVersion>53554</drvVersion><totalGlobalMem>10737418240</totalGlobalMem>"   \
	"<major>8</major><minor>6</minor></coproc_cuda></coprocs>"
#define AMD                                                                            \
	"<coprocs><coproc_ati><count>1</count><name>HD 7000</name>"                    \
	"<have_cal>1</have_cal><have_opencl>1</have_opencl><peak_flops>1e12"           \
	"</peak_flops><CALVersion>1.4.1607</CALVersion><target>8</target>"             \
	"<localRAM>2048</localRAM><doublePrecision>1</doublePrecision>"                \
	"<amdrt_detected/><coproc_opencl><opencl_device_version>OpenCL 1.2 AMD-APP "   \
	"(1124.2)</opencl_device_version></coproc_opencl></coproc_ati></coprocs>"
#define INTEL                                                                          \
	"<coprocs><coproc_intel_gpu><count>1</count><name>Arc</name>"                  \
	"<have_opencl>1</have_opencl><peak_flops>1e12</peak_flops><coproc_opencl>"     \
	"<opencl_device_version>OpenCL 3.0 NEO </opencl_device_version>"               \
	"</coproc_opencl></coproc_intel_gpu></coprocs>"
#define APPLE                                                                          \
	"<coprocs><coproc_apple_gpu><count>1</count><model>M2</model>"                 \
	"<have_metal>1</have_metal><metal_support>5001</metal_support>"                \
	"<peak_flops>1e12</peak_flops></coproc_apple_gpu></coprocs>"
/* A device of another vendor, with a block of OpenCL; Apple's, as clients 7.20 to 7.24
 * report it. */
#define OPENCL_GENERIC(type, vendor)                                                   \
	"<coprocs><coproc><type>" type "</type><count>1</count><peak_flops>1e12"       \
	"</peak_flops><coproc_opencl><vendor>" vendor "</vendor>"                      \
	"<opencl_device_version>OpenCL 1.2 v1</opencl_device_version>"                 \
	"</coproc_opencl></coproc></coprocs>"
#define MALI           OPENCL_GENERIC("Mali-T628", "ARM")
#define APPLE_BY_MODEL OPENCL_GENERIC("Apple M1 Pro", "Apple")
#define CUDA12                                                                         \
	"<coprocs><coproc_cuda><count>1</count><name>RTX 4090</name>"                  \
	"<have_cuda>1</have_cuda><have_opencl>1</have_opencl>"                         \
	"<cudaVersion>12040</cudaVersion><drvVersion>55054</drvVersion>"               \
	"<totalGlobalMem>25000000000</totalGlobalMem><major>8</major><minor>9</minor>" \
	"<coproc_opencl><opencl_device_version>OpenCL 3.0 CUDA"                        \
	"</opencl_device_version></coproc_opencl></coproc_cuda></coprocs>"
#define OLD_AMD                                                                        \
	"<coprocs><coproc_ati><count>1</count><name>HD 4850</name>"                    \
	"<have_cal>1</have_cal><CALVersion>1.4.1385</CALVersion>"                      \
	"<localRAM>512</localRAM><amdrt_detected/></coproc_ati></coprocs>"
#define GENERIC                                                                        \
	"<coprocs><coproc><type>SPE</type><count>6</count>"                            \
	"<peak_flops>1e11</peak_flops></coproc></coprocs>"

#endif
