// SPDX-License-Identifier: Apache-2.0
// A program as projects write them, linked with the BOINC API of the system: it counts to 1 in steps of a tenth of a
// second, keeps its count in a checkpoint file of its own, sends a message and receives one, and does what files in the
// client's directory ask for.  What it learns goes to lines of DIR/api.log.
#include <boinc/boinc_api.h>
#include <boinc/filesys.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

static std::string name;

static void
note(const char *what, double x)
{
	FILE *f = fopen("../../api.log", "a");

	if (f == nullptr)
		exit(9);
	fprintf(f, "%s %s %.9g\n", name.c_str(), what, x);
	fclose(f);
}

static bool
asked(const char *file)
{
	return access((std::string("../../") + file).c_str(), F_OK) == 0;
}

static void
note_init_data()
{
	APP_INIT_DATA aid;

	boinc_get_init_data(aid);
	name = aid.result_name;
	note("started", (double)getpid());
	note("device", aid.gpu_device_num);
	note("userid", (double)aid.userid);
	note("hostid", (double)aid.hostid);
	note("slot", aid.slot);
	note("ncpus", aid.ncpus);
	note("cpu_time", aid.wu_cpu_time);
	note("bound", aid.rsc_memory_bound);
	note("limit", aid.global_prefs.cpu_usage_limit);
	note("wu", aid.wu_name == "wu_" + name);
}

static double
load()
{
	FILE *f = fopen("counted", "r");
	double x = 0;

	if (f == nullptr)
		return 0;
	if (fscanf(f, "%lf", &x) != 1)
		x = 0;
	fclose(f);
	return x;
}

static void
store(double x)
{
	FILE *f = fopen("counted.new", "w");

	if (f == nullptr)
		exit(9);
	fprintf(f, "%.9g\n", x);
	fclose(f);
	rename("counted.new", "counted");
	boinc_checkpoint_completed();
	note("stored", x);
}

static void
talk()
{
	static bool said;
	char variety[] = "test", text[] = "<said>hello</said>\n", file[256];

	if (!said) {
		said = true;
		note("trickle", boinc_send_trickle_up(variety, text));
	}
	if (boinc_receive_trickle_down(file, sizeof(file))) {
		note("heard", 1);
		unlink(file);
	}
}

static void
obey()
{
	if (asked("temporary")) {
		unlink("../../temporary");
		note("temporary", 1);
		boinc_temporary_exit(2, "for a while");
	}
	if (asked("crash"))
		abort();
	BOINC_STATUS status;
	boinc_get_status(&status);
	if (status.reread_init_data_file) {
		APP_INIT_DATA aid;

		boinc_parse_init_data_file();
		boinc_get_init_data(aid);
		note("reread", aid.global_prefs.cpu_usage_limit);
	}
}

int
main(int argc, char **argv)
{
	double x, step = argc > 3 ? atof(argv[3]) : 0.02;

	if (boinc_init() != 0)
		return 9;
	note_init_data();
	x = load();
	note("loaded", x);
	while (x < 1 || asked("hold")) {
		usleep(100000);
		if (x < 0.9 || !asked("hold"))
			x += step;
		boinc_fraction_done(x);
		if (boinc_time_to_checkpoint() || asked("store"))
			store(x);
		talk();
		obey();
	}
	note("done", x);
	if (system(("{ head -c 20000 in; md5sum <in; echo " + name + "; } >out").c_str()) != 0)
		return 9;
	boinc_finish(0);
}
